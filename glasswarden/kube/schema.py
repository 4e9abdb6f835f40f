"""What the built-in types define about a field: the shape of its value, and the identity of items.

A comparison needs to know how the items of a list are identified, and which texts are amounts. Both
follow from the kind and the path, never from the value: ``1e3`` in a ConfigMap is text. For custom
resources, only the metadata is known here.

The items of a list are identified by the values under their merge keys, or, in a set, by
themselves. In this module, empty keys mean a set.
"""

from collections.abc import Hashable, Iterator
from functools import cache
from typing import Any, Final, Literal, TypeAlias

import msgspec

from glasswarden.kube.builtin_types import BUILTIN_TYPES
from glasswarden.kube.objects import Ref, split_api_version
from glasswarden.kube.paths import Key, Member, Select, Step


class KeyedItems(msgspec.Struct, frozen=True):
    """Items are maps, identified by the values under these keys."""

    keys: tuple[str, ...]


Items: TypeAlias = KeyedItems | Literal["set", "atomic"]
"""How the items of a list are identified: by keys, by value, or not at all."""

Meaning: TypeAlias = Literal["quantity", "int-or-string"]


class Shape(msgspec.Struct, frozen=True):
    """What is known about a value."""

    fields: dict[str, "Shape"] = {}
    rest: "Shape | None" = None
    """The shape of a list's items, or of the values of a map that `fields` does not name."""
    items: Items | None = None
    meaning: Meaning | None = None
    typed: bool = True
    """Whether the API server checks the type of the value: then ``true`` never becomes ``1``."""

    def at(self, key: str) -> "Shape":
        """Return the shape of the field *key*."""
        return self.fields.get(key) or self.rest or (PLAIN if self.typed else UNKNOWN)

    def below(self, step: Step) -> "Shape":
        """Return the shape of what *step* leads to."""
        return self.at(step.name) if isinstance(step, Key) else self.item

    @property
    def item(self) -> "Shape":
        """The shape of each item of a list."""
        return self.rest or (PLAIN if self.typed else UNKNOWN)


PLAIN: Final = Shape()
"""A value of a known type that needs no special care."""

UNKNOWN: Final = Shape(typed=False)
"""A value that only a custom resource's own schema knows."""


def shape_of(ref: Ref) -> Shape:
    """Return the shape of objects of *ref*'s kind."""
    return _KINDS.get((ref.group, ref.version, ref.kind), _CUSTOM)


def find_builtin_kind(kind: str) -> tuple[str, str] | None:
    """Return the group and version of the built-in *kind*; none if it is ambiguous."""
    found = {(group, version) for group, version, name in _KINDS if name == kind}
    stable = {each for each in found if each[1].isalnum() and "alpha" not in each[1]}
    groups = {group for group, _ in stable}
    return max(stable, key=_stability_of) if len(groups) == 1 else None


def _stability_of(kind: tuple[str, str]) -> tuple[bool, str]:
    return "beta" not in kind[1], kind[1]


_Block: TypeAlias = dict[str, str]
"""The lines below one title of the table: the type of each field."""


def _parse_table(table: str) -> dict[str, _Block]:
    blocks: dict[str, _Block] = {}
    block: _Block = {}
    for line in table.splitlines():
        if line.startswith(" "):
            field, _, held = line.strip().partition(" ")
            block[field] = held
        else:
            block = blocks[line] = {}
    return blocks


_BLOCKS: Final = _parse_table(BUILTIN_TYPES)


@cache
def _parse_shape(text: str) -> Shape:
    """Return the shape that the right-hand side of a line describes."""
    match text:
        case "quantity" | "int-or-string":
            return Shape(meaning=text)
        case "set" | "atomic":
            return Shape(items=text)
    if text.startswith("*"):
        return Shape(rest=_parse_shape(text[1:]))
    if text.startswith("["):
        keys, _, item = text[1:].partition("]")
        return Shape(items=KeyedItems(tuple(keys.split(","))), rest=_parse_shape(item.strip()))
    return Shape(fields=_parse_fields(text)) if text else PLAIN


def _parse_fields(title: str) -> dict[str, Shape]:
    return {field: _parse_shape(held) for field, held in _BLOCKS[title].items()}


def _parse_kinds() -> Iterator[tuple[tuple[str, str, str], Shape]]:
    for title in _BLOCKS:
        api_version, _, kind = title.partition(" ")
        if kind:
            fields = _parse_fields(title) | {"metadata": _METADATA}
            yield (*split_api_version(api_version), kind), Shape(fields)


_METADATA: Final = _parse_shape("ObjectMeta")
_KINDS: Final = dict(_parse_kinds())
_CUSTOM: Final = Shape({"metadata": _METADATA}, typed=False)


Keys: TypeAlias = tuple[str, ...]

Identity: TypeAlias = Hashable
"""The value that identifies an item; none if it has no identity.

Python considers true equal to 1, so a list with both under the same key has one identity twice.
"""

ItemsByIdentity: TypeAlias = dict[Identity, tuple[int, Any]]
"""Items and their positions, by identity."""


def identity_of(item: Any, keys: Keys) -> Identity:  # noqa: ANN401 - any JSON value
    """Return the identity of *item* in its list."""
    if not keys:
        return _scalar_identity_of(item)
    if not isinstance(item, dict):
        return None
    identities = tuple([_scalar_identity_of(item.get(key)) for key in keys])
    return None if None in identities else identities


def index_by_identity(items: list[Any], keys: Keys) -> ItemsByIdentity | None:
    """Return *items* by their identities; none if one has no identity or two have the same."""
    found = {identity_of(item, keys): (index, item) for index, item in enumerate(items)}
    return found if len(found) == len(items) and None not in found else None


def are_aligned(one: list[Any], other: list[Any], keys: Keys) -> bool:
    """Return whether both lists have the same items by their identities, in the same order.

    A quick check for the most frequent case, which needs no index. If it is false, the lists may
    still have the same items.
    """
    if len(keys) != 1 or len(one) != len(other):
        return False
    [key] = keys
    try:
        identities = [item[key] for item in one]
        distinct = set(identities)
        is_alike = identities == [item[key] for item in other]
    except (KeyError, TypeError):
        return False  # an item is not a map, lacks the key, or has a map or list under it
    return is_alike and len(distinct) == len(identities) and None not in distinct


def step_to(item: Any, keys: Keys) -> Select | Member:  # noqa: ANN401 - any JSON value
    """Return the step that leads to *item*, which has an identity."""
    return Select(tuple([(key, item[key]) for key in keys])) if keys else Member(item)


def target_of(step: Select | Member) -> tuple[Keys, Identity]:
    """Return the merge keys of *step* and the identity it selects."""
    if isinstance(step, Member):
        return (), identity_of(step.value, ())
    keys = tuple(name for name, _ in step.keys)
    return keys, identity_of(dict(step.keys), keys)


def _scalar_identity_of(value: Any) -> Identity:  # noqa: ANN401 - any JSON value
    return None if isinstance(value, dict | list) else value
