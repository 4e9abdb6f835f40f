"""How deep a value is nested.

What encodes or compares values calls itself once a level, and ends in an error at a depth that
depends on how deep its caller already was: whoever takes values from strangers bounds them first.
"""

from typing import Any


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
