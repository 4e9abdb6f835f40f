"""The identity of a Kubernetes object, read from its decoded JSON.

Objects come from admission reviews, audit logs and clients, so nothing about their shape is taken
for granted: what is missing or of the wrong type reads as empty, and nothing here raises.

How deep a value is nested.

What encodes or compares values calls itself once a level, and ends in an error at a depth that
depends on how deep its caller already was: whoever takes values from strangers bounds them first.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Object: TypeAlias = dict[str, Any]
"""A decoded Kubernetes object; read, never modified."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Which object: its type, its place and, once it is stored, its uid."""

    group: str
    """API group, empty for the core group."""
    version: str
    kind: str
    namespace: str
    """Empty for cluster-scoped objects."""
    name: str
    uid: str = ""

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {place}"


def ref_of(obj: Object) -> Ref:
    """Return the identity that *obj* states about itself."""
    group, version = split_api_version(_text(obj, "apiVersion"))
    metadata = metadata_of(obj)
    return Ref(
        group,
        version,
        _text(obj, "kind"),
        _text(metadata, "namespace"),
        _text(metadata, "name"),
        _text(metadata, "uid"),
    )


def split_api_version(api_version: str) -> tuple[str, str]:
    """Split ``apps/v1`` into group and version; the core group's ``v1`` has an empty group."""
    group, _, version = api_version.rpartition("/")
    return group, version


def metadata_of(obj: Object) -> Object:
    """Return the metadata of *obj*, empty where it has none."""
    return _mapping(obj, "metadata")


def generation_of(obj: Object) -> int:
    """Return how often the spec of *obj* was written, 0 where that is not counted."""
    value = metadata_of(obj).get("generation")
    return value if isinstance(value, int) else 0


def labels_of(obj: Object) -> Object:
    """Return the labels of *obj*, empty where it has none."""
    return _mapping(metadata_of(obj), "labels")


def annotations_of(obj: Object) -> Object:
    """Return the annotations of *obj*, empty where it has none."""
    return _mapping(metadata_of(obj), "annotations")


def has_controller(obj: Object) -> bool:
    """Tell whether another object controls *obj* (at most one ownerReference may say so)."""
    references = metadata_of(obj).get("ownerReferences")
    if not isinstance(references, list):
        return False
    return any(isinstance(each, dict) and each.get("controller") is True for each in references)


def _mapping(parent: Object, key: str) -> Object:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _text(parent: Object, key: str) -> str:
    value = parent.get(key)
    return value if isinstance(value, str) else ""


DEEPEST_READ: Final = 100
"""Levels of a document that are read where no more is needed; metadata has less than ten."""

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]|[\]}]', re.DOTALL)
"""A string, which may hold brackets of its own, or the begin or end of a map or list."""


def decode_pruned(text: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value that the JSON *text* spells; too deep inside, null stands for all the rest.

    One object that is nested out of reason does not make a list unreadable. Raises `ValueError`.
    """
    try:
        return json.loads(text)
    except RecursionError:
        return json.loads(b"".join(_shallow_parts(text)))


def _shallow_parts(text: bytes) -> Iterator[bytes]:
    """Yield *text* without what is nested more than `DEEPEST_READ` levels deep."""
    depth, start = 0, 0
    for token in _TOKEN.finditer(text):
        if token[0] in b"[{":
            depth += 1
            if depth == DEEPEST_READ + 1:
                yield text[start : token.start()] + b"null"
        elif token[0] in b"]}":
            if depth == DEEPEST_READ + 1:
                start = token.end()
            depth -= 1
    if depth <= DEEPEST_READ:  # else it never ends, and is no JSON
        yield text[start:]


def is_nested_beyond(value: Any, most: int) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether *value* has more than *most* levels of maps and lists."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(most):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return bool(level)
