"""The JSON Patch (RFC 6902) that turns one version of an object into another.

Maps are patched field by field; everything else that differs is replaced as a whole, lists too: a
list's items have no lasting positions for an operation to name.
"""

from typing import Any, TypeAlias

from glasswarden.kube.equality import identical
from glasswarden.kube.objects import Object

Operation: TypeAlias = dict[str, Any]


def json_patch(old: Object, new: Object) -> list[Operation]:
    """Return the operations that make *new* of *old*, none where they are the same."""
    operations: list[Operation] = []
    pending: list[tuple[str, Object, Object]] = [("", old, new)]
    while pending:
        pointer, before, after = pending.pop()
        operations += (
            {"op": "remove", "path": f"{pointer}/{_escaped(key)}"}
            for key in before
            if key not in after
        )
        for key, value in after.items():
            place = f"{pointer}/{_escaped(key)}"
            if key not in before:
                operations.append({"op": "add", "path": place, "value": value})
            elif isinstance(before[key], dict) and isinstance(value, dict):
                pending.append((place, before[key], value))
            elif before[key] is not value and not identical(before[key], value):
                operations.append({"op": "replace", "path": place, "value": value})
    return operations


def _escaped(key: str) -> str:
    """Return *key* as part of a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
