"""What the types of a policy document cannot say: combinations and field paths that make no sense.

Each objection has the place it is about, written like `.delegations[0].fields[1]`.
"""

from collections.abc import Iterator
from typing import TypeAlias

from glasswarden.kube.owners import DEFAULT_ENGINES, OPTIONAL_ENGINES
from glasswarden.kube.path_patterns import parse_pattern
from glasswarden.kube.path_syntax import PathError
from glasswarden.policy.document import Delegation, Document, Marker

Objection: TypeAlias = tuple[str, str]


def objections(document: Document) -> Iterator[Objection]:
    """Yield what is wrong with *document*."""
    for index, delegation in enumerate(document.delegations):
        yield from _to_delegation(f".delegations[{index}]", delegation)
    for index, rule in enumerate(document.sensitive):
        yield from _to_fields(f".sensitive[{index}]", rule.fields)
    for index, marker in enumerate(document.markers):
        yield from _to_marker(f".markers[{index}]", marker)
    yield from _to_repeated_markers(document)


def _to_delegation(place: str, delegation: Delegation) -> Iterator[Objection]:
    if not delegation.actors and not delegation.managers:
        yield place, "a delegation names who is delegated to: actors, or managers"
    yield from _to_fields(place, delegation.fields)


def _to_fields(place: str, fields: tuple[str, ...]) -> Iterator[Objection]:
    for index, field in enumerate(fields):
        try:
            parse_pattern(field)
        except PathError as error:
            yield f"{place}.fields[{index}]", f"no field path: {error}"


def _to_marker(place: str, marker: Marker) -> Iterator[Objection]:
    if (marker.label is None) == (marker.annotation is None):
        yield place, "a marker is either a label or an annotation"
    if marker.name in {engine.name for engine in (*DEFAULT_ENGINES, *OPTIONAL_ENGINES)}:
        yield f"{place}.name", f"{marker.name!r} is an engine that is known already"


def _to_repeated_markers(document: Document) -> Iterator[Objection]:
    seen = set()
    for index, marker in enumerate(document.markers):
        if marker.name in seen:
            yield f".markers[{index}].name", f"the marker {marker.name!r} stands here twice"
        seen.add(marker.name)
