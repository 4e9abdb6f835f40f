"""JSON Patch by the letter of RFC 6902, as far as `json_patch` uses it, to check it with."""

import copy
from typing import Any

Object = dict[str, Any]


def apply_patch(old: Object, patch: list[Object]) -> Object:
    """Return *old* with *patch* made; what an operation names must be there."""
    result = copy.deepcopy(old)
    for operation in patch:
        *parents, last = (
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
        )
        target = result
        for part in parents:
            target = target[part]
        assert isinstance(target, dict)
        if operation["op"] != "add":
            del target[last]
        if operation["op"] != "remove":
            target[last] = operation["value"]
    return result
