"""How the items of a list are told apart: by the values under their merge keys, or by themselves.

Throughout, no keys at all means a set, whose members are their own identity.
"""

from collections.abc import Hashable
from typing import Any, TypeAlias

from glasswarden.kube.paths import Member, Select

Keys: TypeAlias = tuple[str, ...]

Identity: TypeAlias = Hashable
"""What an item is recognised by; none where it has nothing to be recognised by.

Python cannot tell true from 1, so a list with both under the same key has one identity twice.
"""

Identified: TypeAlias = dict[Identity, tuple[int, Any]]
"""Items and their positions, by identity."""


def identity_of(item: Any, keys: Keys) -> Identity:  # noqa: ANN401 - any JSON value
    """Return what tells *item* apart from the others of its list."""
    if not keys:
        return _scalar_identity(item)
    if not isinstance(item, dict):
        return None
    identities = tuple([_scalar_identity(item.get(key)) for key in keys])
    return None if None in identities else identities


def identified(items: list[Any], keys: Keys) -> Identified | None:
    """Return *items* by their identities, or nothing where one has none or two have the same."""
    found = {identity_of(item, keys): (index, item) for index, item in enumerate(items)}
    return found if len(found) == len(items) and None not in found else None


def are_aligned(one: list[Any], other: list[Any], keys: Keys) -> bool:
    """Tell, at a glance, whether both lists hold the same items by their identities, in one order.

    Most that are compared do, and nothing has to be looked up then. Where it is false, a closer
    look may still find that they do.
    """
    if len(keys) != 1 or len(one) != len(other):
        return False
    [key] = keys
    try:
        identities = [item[key] for item in one]
        distinct = set(identities)
        is_alike = identities == [item[key] for item in other]
    except (KeyError, TypeError):
        return False  # an item is no map, has no such key, or a map or a list under it
    return is_alike and len(distinct) == len(identities) and None not in distinct


def step_to(item: Any, keys: Keys) -> Select | Member:  # noqa: ANN401 - any JSON value
    """Return the step that leads to *item*, which has an identity."""
    return Select(tuple([(key, item[key]) for key in keys])) if keys else Member(item)


def wanted_by(step: Select | Member) -> tuple[Keys, Identity]:
    """Return the keys that *step* goes by and the identity it leads to."""
    if isinstance(step, Member):
        return (), identity_of(step.value, ())
    keys = tuple(name for name, _ in step.keys)
    return keys, identity_of(dict(step.keys), keys)


def _scalar_identity(value: Any) -> Identity:  # noqa: ANN401 - any JSON value
    return None if isinstance(value, dict | list) else value
