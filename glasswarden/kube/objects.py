"""Reads the identity and metadata of a Kubernetes object from its decoded JSON.

Objects come from admission reviews, audit logs and clients, so nothing here assumes their shape: a
value that is missing or has the wrong type reads as empty, and nothing raises.

`is_nested_beyond` and `decode_pruned` limit the depth of a value. Functions that encode or compare
values recurse once per level, and fail at a depth that depends on the depth of their caller, so
untrusted values must be limited first.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

Object: TypeAlias = dict[str, Any]
"""A decoded Kubernetes object; read, never modified."""


@dataclass(frozen=True, slots=True)
class Ref:
    """The identity of an object: its type, namespace, name and, once it is stored, its uid."""

    group: str
    """API group, empty for the core group."""
    version: str
    kind: str
    namespace: str
    """Empty for cluster-scoped objects."""
    name: str
    uid: str = ""

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}"


class ObjectKey(NamedTuple):
    """An object by its name, whatever its version: one that was created again has the same key."""

    group: str
    kind: str
    namespace: str
    name: str


def object_key_of(ref: Ref) -> ObjectKey:
    """Return the key of the object that *ref* identifies."""
    return ObjectKey(ref.group, ref.kind, ref.namespace, ref.name)


def ref_of(obj: Object) -> Ref:
    """Return the identity that *obj* states about itself."""
    group, version = split_api_version(_text_at(obj, "apiVersion"))
    metadata = metadata_of(obj)
    return Ref(
        group,
        version,
        _text_at(obj, "kind"),
        _text_at(metadata, "namespace"),
        _text_at(metadata, "name"),
        _text_at(metadata, "uid"),
    )


def split_api_version(api_version: str) -> tuple[str, str]:
    """Split ``apps/v1`` into group and version; the core group's ``v1`` has an empty group."""
    group, _, version = api_version.rpartition("/")
    return group, version


def metadata_of(obj: Object) -> Object:
    """Return the metadata of *obj*; empty if it has none."""
    return _mapping_at(obj, "metadata")


def generation_of(obj: Object) -> int:
    """Return `metadata.generation` of *obj*; 0 if it has none."""
    value = metadata_of(obj).get("generation")
    return value if isinstance(value, int) else 0


def labels_of(obj: Object) -> Object:
    """Return the labels of *obj*; empty if it has none."""
    return _mapping_at(metadata_of(obj), "labels")


def annotations_of(obj: Object) -> Object:
    """Return the annotations of *obj*; empty if it has none."""
    return _mapping_at(metadata_of(obj), "annotations")


def has_controller(obj: Object) -> bool:
    """Return whether another object controls *obj* (at most one ownerReference may say so)."""
    references = metadata_of(obj).get("ownerReferences")
    if not isinstance(references, list):
        return False
    return any(isinstance(each, dict) and each.get("controller") is True for each in references)


def _mapping_at(parent: Object, key: str) -> Object:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _text_at(parent: Object, key: str) -> str:
    value = parent.get(key)
    return value if isinstance(value, str) else ""


DEEPEST_READ: Final = 100
"""Levels of a document that `decode_pruned` keeps; metadata has fewer than ten."""

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]|[\]}]', re.DOTALL)
"""A string, which may contain brackets, or the begin or end of a map or list."""


def decode_pruned(text: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of the JSON *text*, with null for everything that is nested too deep.

    So one object that is nested too deep does not make a list unreadable. Raises `ValueError`.
    """
    try:
        return json.loads(text)
    except RecursionError:
        return json.loads(b"".join(_split_shallow_parts(text)))


def _split_shallow_parts(text: bytes) -> Iterator[bytes]:
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
    if depth <= DEEPEST_READ:  # else it has no end, and is not JSON
        yield text[start:]


def is_nested_beyond(value: Any, most: int) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether *value* has more than *most* levels of maps and lists."""
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
