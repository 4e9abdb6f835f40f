"""What the log says, and how often: its level, and which decisions it leaves out. Pure.

Refusals and everything about grants are never left out.
"""

import logging
from collections import Counter
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from glasswarden.policy.decision import Clause, Decision
from glasswarden.policy.typed_yaml import parse_typed

NOUN: Final = "logging file"

ALWAYS: Final = "always"
"""Marks a line that no level leaves out."""


class Level(StrEnum):
    """From which weight on a line is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def number(self) -> int:
        """As Python's logging counts it."""
        return logging.getLevelNamesMapping()[self.upper()]


class LogRules(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """The logging file as it is written."""

    level: Annotated[Level, Meta(description="Lines below this are left out.")] = Level.INFO
    sample: Annotated[
        dict[Clause, Annotated[int, Meta(ge=1, le=1_000_000)]],
        Meta(description="Of allowed writes that a clause decided, one in so many gets a line."),
    ] = {}


DEFAULT: Final = LogRules()


def parse_log_rules(text: str) -> LogRules:
    """Return what *text* says, or raise `TextInvalid` with the line and column."""
    return parse_typed(text, LogRules, NOUN).value


def is_always_told(decision: Decision) -> bool:
    """Tell whether a decision gets its line whatever the rules say: a refusal, or about a grant."""
    return not decision.allowed or decision.grant is not None


class Sampler:
    """Says which decisions get a line. Belongs to one process."""

    def __init__(self, rules: LogRules = DEFAULT) -> None:
        self.rules = rules
        self._seen: Counter[Clause] = Counter()

    def weight(self, decision: Decision) -> int:
        """Return how many decisions a line about this one stands for; 0 where it gets none."""
        every = self.rules.sample.get(decision.clause, 1)
        if every == 1 or is_always_told(decision):
            return 1
        self._seen[decision.clause] += 1
        return every if self._seen[decision.clause] % every == 1 else 0
