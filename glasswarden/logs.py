"""The log of a program: one line of JSON per event, gunicorn's own lines included.

The text of an exception is left out, for it may quote what somebody sent; where it was raised is
not. A file sets the level, and which decisions are left out; it is followed while the program runs.
A file that is broken changes nothing; without one, the defaults serve. Denials, and everything
about grants, are never left out.
"""

import logging
import sys
import traceback
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import msgspec
import structlog
from gunicorn.glogging import Logger
from msgspec import Meta
from structlog.typing import EventDict, Processor, WrappedLogger

from glasswarden.policy.decision import Clause, Decision
from glasswarden.reloaded import Reloaded
from glasswarden.typed_yaml import TextInvalid, parse_typed

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
    """Return the rules in *text*, or raise `TextInvalid` with the line and column."""
    return parse_typed(text, LogRules, NOUN).value


def is_always_logged(decision: Decision) -> bool:
    """Return whether a decision is logged whatever the rules are: a denial, or about a grant."""
    return not decision.allowed or decision.grant is not None


class Sampler:
    """Selects the decisions that get a line. Belongs to one process."""

    def __init__(self, rules: LogRules = DEFAULT) -> None:
        self.rules = rules
        self._seen: Counter[Clause] = Counter()

    def weight(self, decision: Decision) -> int:
        """Return how many decisions a line about this one stands for; 0 where it gets none."""
        every = self.rules.sample.get(decision.clause, 1)
        if every == 1 or is_always_logged(decision):
            return 1
        self._seen[decision.clause] += 1
        return every if self._seen[decision.clause] % every == 1 else 0


SERVER: Final = "gunicorn.error"


class _Threshold:
    """Lets a line through or not, by a level that may be set at any time.

    One that is marked as `ALWAYS` is let through at every level, without the mark.
    """

    def __init__(self) -> None:
        self.level = logging.INFO

    def __call__(self, _logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        if event.pop(ALWAYS, False):
            return event
        if logging.getLevelNamesMapping().get(_LEVELS.get(method, ""), logging.INFO) < self.level:
            raise structlog.DropEvent
        return event


_LEVELS: Final = {
    "debug": "DEBUG",
    "info": "INFO",
    "warning": "WARNING",
    "error": "ERROR",
    "exception": "ERROR",
    "critical": "CRITICAL",
}
_threshold: Final = _Threshold()


def set_level(level: int) -> None:
    """Have lines below *level* left out, from now on, in this process."""
    _threshold.level = level
    logging.getLogger(SERVER).setLevel(level)


def _where_raised(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Put the type of an exception and the places it went through in the place of itself."""
    found = event.pop("exc_info", None)
    if found is True:
        found = sys.exc_info()
    if isinstance(found, BaseException):
        found = type(found), found, found.__traceback__
    if isinstance(found, tuple) and found[0] is not None:
        frames = traceback.extract_tb(found[2])
        event["exception"] = found[0].__name__
        event["raised_at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return event


_SHARED: list[Processor] = [
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _where_raised,
]


def configure_logs() -> None:
    """Send structlog's events to the standard error, as JSON."""
    structlog.configure(
        processors=[
            _threshold,
            structlog.processors.add_log_level,
            *_SHARED[1:],
            structlog.processors.JSONRenderer(),
        ],
        # A line and its end in one write: the lines of several processes are not mixed.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


class ServerLog(Logger):  # type: ignore[misc]  # gunicorn ships no types
    """gunicorn's log, with its lines in the form of ours."""

    def setup(self, cfg: object) -> None:
        """Configure as gunicorn does, then put our formatter in the place of its own."""
        super().setup(cfg)
        for handler in self.error_log.handlers:
            handler.setFormatter(_formatter())


def _formatter() -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(),
        ],
    )


log = structlog.get_logger()


class LogFile:
    """Configures a process's log from the file; without a file, or a readable one, the defaults."""

    def __init__(self, path: Path | None, sampler: Sampler) -> None:
        self._path = path
        self._sampler = sampler
        self._file = Reloaded(
            DEFAULT,
            self._read,
            lambda text: parse_log_rules(text) if text else DEFAULT,
            on_change=self._apply,
            on_error=self._report,
            quoted=(TextInvalid,),
        )

    async def follow(self) -> None:
        """Take the file up whenever it changes, for as long as the process lives."""
        if self._path is not None:
            await self._file.follow()

    def follow_aside(self) -> None:
        """Do the same in a thread of its own, for a program that has no event loop."""
        if self._path is not None:
            self._file.follow_in_thread("logging rules")

    def refresh(self) -> None:
        """Load the file if its content has changed."""
        self._file.refresh()

    def _report(self, reason: str) -> None:
        log.warning("logging rules not reloaded", file=str(self._path), reason=reason)

    def _apply(self, rules: LogRules) -> None:
        if rules == self._sampler.rules:
            return
        self._sampler.rules = rules
        set_level(rules.level.number)
        # At a level that is always logged: the log must contain why it becomes quiet.
        log.error("logging rules reloaded", level_now=rules.level.value, sample=dict(rules.sample))

    def _read(self) -> str:
        try:
            return self._path.read_text() if self._path else ""
        except (OSError, UnicodeDecodeError):
            return ""
