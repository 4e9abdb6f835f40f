"""A policy to begin with, from what a survey found; every line has its reason. Pure."""

import json
import re
from collections.abc import Iterator

from glasswarden.kube.engines.engine import Detected, Engine
from glasswarden.kube.engines.registry import BY_NAME
from glasswarden.policy.matching import names_of
from glasswarden.policy.policy import DELEGATIONS
from glasswarden.setup.survey import Survey, UnknownManager

HEAD = """\
# Proposed from a survey of the cluster. Read it before you use it: a trusted controller is never
# asked about, and a delegate's fields are nobody else's business.
apiVersion: glasswarden.io/v1
kind: Policy
"""

_PLAIN = re.compile("[A-Za-z]([A-Za-z0-9:+-]*[A-Za-z0-9])?")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""Words that YAML does not read as text."""


def propose(survey: Survey) -> str:
    """Return a policy file."""
    lines = [
        *_modes(survey),
        *_engines(survey),
        *_delegations(survey),
        *(f"# not read: {reason}" for reason in survey.unread),
    ]
    return HEAD + "\n".join(lines) + "\n"


def _modes(survey: Survey) -> Iterator[str]:
    total = sum(survey.managed.values())
    kinds = ", ".join(f"{count} of {name}" for name, count in sorted(survey.managed.items()))
    yield ""
    yield f"# {total} marked objects were seen{f': {kinds}' if kinds else ''}."
    if survey.by_people:
        yield f"# On {survey.by_people} of them a person's tool owns a field: drift, or habit."
    yield "# Watch first; enforce when the records hold no surprise."
    yield "mode: audit"
    yield "reconcilers: audit"


def _engines(survey: Survey) -> Iterator[str]:
    others = [name for name in survey.engines if BY_NAME[name].detect is None]
    if others:
        yield ""
        yield f"# Also found, and guarded with its usual controllers: {', '.join(others)}."
    sections = {name: [*_section(BY_NAME[name], each)] for name, each in survey.detected.items()}
    for name, lines in sections.items():
        yield ""
        yield f"# {survey.detected[name].title}{_usual(lines)}."
    if any(sections.values()):
        yield "engines:"
    for name, lines in sections.items():
        if lines:
            yield f"  {name}:"
            yield from lines


def _usual(lines: list[str]) -> str:
    return "" if lines else ", set up as usual: the defaults serve"


def _section(engine: Engine, detected: Detected) -> Iterator[str]:
    """Yield what the policy needs for *engine*, nothing where the defaults serve."""
    for setting in detected.changed_settings:
        yield f"    {setting.key}: {_text(setting.value)}  # {setting.reason}"
    usual = names_of(engine.controllers)
    unusual = [each for each in detected.controllers if each.user not in usual]
    if unusual:
        yield "    controllers:"
        yield from (_user(name, "usual") for name in engine.controllers)
        yield from (_user(each.user, each.reason) for each in unusual)


def _user(name: str, reason: str) -> str:
    return f"      - {_text(name)}  # {reason}"


def _delegations(survey: Survey) -> Iterator[str]:
    if survey.autoscalers:
        yield ""
        yield f"# {survey.autoscalers} autoscalers: `replicas` is theirs by default."
    moved = [*_renamed_delegates_of(survey)]
    if moved:
        yield ""
        yield "delegations:"
        yield from moved
    for unknown in survey.unknown_managers:
        yield from _question(unknown)


def _renamed_delegates_of(survey: Survey) -> Iterator[str]:
    """Yield the usual delegates that run under another name here."""
    for name, users in (("cert-manager", survey.cert_managers), ("keda", survey.kedas)):
        [usual] = [each for each in DELEGATIONS if each.name == name]
        others = [user for user in users if user not in usual.actors]
        if others:
            yield f"  # {name} runs under another name than usual"
            yield f"  - name: {name}-here"
            yield f"    actors: {json.dumps(others)}"
            yield f"    fields: {json.dumps(list(usual.fields))}"


def _question(unknown: UnknownManager) -> Iterator[str]:
    """Yield a delegation for a person to decide about: anybody can choose a manager's name."""
    yield ""
    yield f"# The field manager {_text(unknown.name)} owns fields of {unknown.objects} objects."
    yield "# Whose is it? If these fields are its own, name its user and take the marks off:"
    yield f"#  - name: {_text(unknown.name)}"
    yield "#    actors: [system:serviceaccount:NAMESPACE:NAME]"
    yield f"#    fields: {json.dumps(list(unknown.fields))}"


def _text(value: str) -> str:
    """Return *value* as YAML: plain where it is then read as the same text, or as in JSON."""
    return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else json.dumps(value)
