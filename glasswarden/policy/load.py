"""Reading a policy file: text in, a `Document` out, or the line and column of the mistake.

Also checks what the types of the document cannot express: combinations and field paths that make no
sense. Each objection has the place it is about, written like `.delegations[0].fields[1]`.
"""

import re
from collections.abc import Iterator
from datetime import time
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from glasswarden.duration import DurationError, parse_positive_duration
from glasswarden.kube.engines.registry import BY_NAME
from glasswarden.kube.paths import PathError
from glasswarden.kube.patterns import parse_pattern
from glasswarden.policy.document import BreakGlassRule, Delegation, Document, Hours, Marker
from glasswarden.policy.types import Operation
from glasswarden.typed_yaml import Mistake, TextInvalid, parse_typed

Objection: TypeAlias = tuple[str, str]

WHOLE_OBJECT: Final = "/**"
"""The pattern that every field fits."""

_CLOCK: Final = re.compile("[0-2][0-9]:[0-5][0-9]")


def objections(document: Document) -> Iterator[Objection]:
    """Yield what is wrong with *document*."""
    for index, delegation in enumerate(document.delegations):
        yield from _to_delegation(f".delegations[{index}]", delegation)
    for index, rule in enumerate(document.sensitive):
        yield from _to_fields(f".sensitive[{index}]", rule.fields)
    for index, marker in enumerate(document.markers):
        yield from _to_marker(f".markers[{index}]", marker)
    yield from _to_repeated_markers(document)
    seen: set[str] = set()
    for index, grants in enumerate(document.break_glass.rules):
        place = f".breakGlass.rules[{index}]"
        if grants.name in seen:
            yield f"{place}.name", f"the rule {grants.name!r} is duplicate"
        seen.add(grants.name)
        yield from _to_break_glass(place, grants)


def _to_break_glass(place: str, rule: BreakGlassRule) -> Iterator[Objection]:
    if not rule.users and not rule.groups:
        yield place, "a rule names who may break the glass: users, or groups"
    try:
        re.compile(rule.ticket)
    except re.error as error:
        yield f"{place}.ticket", f"no regular expression: {error}"
    yield from _to_fields(place, rule.closed, "closed")
    if rule.hours is not None:
        yield from _to_hours(f"{place}.hours", rule.hours)
    if rule.approval is not None:
        if not rule.approval.users and not rule.approval.groups:
            yield f"{place}.approval", "an approval names who approves: users, or groups"
        yield from _to_duration(f"{place}.approval.within", rule.approval.within)
    wrong = [
        *_to_duration(f"{place}.ttl.default", rule.ttl.default),
        *_to_duration(f"{place}.ttl.longest", rule.ttl.longest),
    ]
    yield from wrong
    if not wrong and parse_positive_duration(rule.ttl.default) > parse_positive_duration(
        rule.ttl.longest
    ):
        yield f"{place}.ttl", f"the default, {rule.ttl.default}, is longer than the longest"


def _to_duration(place: str, text: str) -> Iterator[Objection]:
    try:
        parse_positive_duration(text)
    except DurationError as error:
        yield place, str(error)


def _to_hours(place: str, hours: Hours) -> Iterator[Objection]:
    wrong = False
    for key, text in (("from", hours.start), ("to", hours.end)):
        try:
            time.fromisoformat(text if _CLOCK.fullmatch(text) else "")
        except ValueError:
            wrong = True
            yield f"{place}.{key}", f"{text!r} is no time of the day such as 09:00"
    if not wrong and hours.start >= hours.end:
        yield place, "they end before they begin; for a night, write the day and `outside: true`"
    try:
        ZoneInfo(hours.timezone)
    except (ValueError, KeyError, OSError):
        yield f"{place}.timezone", f"{hours.timezone!r} is no time zone such as Europe/Berlin"


def _to_delegation(place: str, delegation: Delegation) -> Iterator[Objection]:
    if not delegation.actors and not delegation.managers:
        yield place, "a delegation names who is delegated to: actors, or managers"
    for index, operation in enumerate(delegation.operations):
        # Neither changes single fields, so no list of them could ever say no to it.
        if operation is not Operation.UPDATE and WHOLE_OBJECT not in delegation.fields:
            needed = f"a {operation} is of the whole object: its fields are {WHOLE_OBJECT}"
            yield f"{place}.operations[{index}]", f"{needed}; write another delegation for it"
    yield from _to_fields(place, delegation.fields)


def _to_fields(place: str, fields: tuple[str, ...], key: str = "fields") -> Iterator[Objection]:
    for index, field in enumerate(fields):
        try:
            parse_pattern(field)
        except PathError as error:
            yield f"{place}.{key}[{index}]", f"no field path: {error}"


def _to_marker(place: str, marker: Marker) -> Iterator[Objection]:
    if (marker.label is None) == (marker.annotation is None):
        yield place, "a marker is either a label or an annotation"
    if marker.name in BY_NAME:
        yield f"{place}.name", f"{marker.name!r} is an engine that is known already"


def _to_repeated_markers(document: Document) -> Iterator[Objection]:
    seen = set()
    for index, marker in enumerate(document.markers):
        if marker.name in seen:
            yield f".markers[{index}].name", f"the marker {marker.name!r} is duplicate"
        seen.add(marker.name)


class PolicyInvalid(Exception):
    """The text is no policy; mend what `mistake` names."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


def parse_document(text: str) -> Document:
    """Return the policy document in *text*, or raise `PolicyInvalid`."""
    try:
        typed = parse_typed(text, Document, "policy")
    except TextInvalid as error:
        raise PolicyInvalid(error.mistake) from error
    for place, message in objections(typed.value):
        raise PolicyInvalid(typed.mistake_at(place, message))
    return typed.value


def document_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file."""
    return msgspec.json.schema(Document)
