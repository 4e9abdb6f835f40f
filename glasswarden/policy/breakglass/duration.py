"""Lengths of time as people write them: `30m`, `2h`, `1h30m`."""

import re
from datetime import timedelta
from typing import Final

_SECONDS: Final = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_SHAPE: Final = re.compile("".join(rf"(?:(?P<{unit}>[0-9]{{1,5}}){unit})?" for unit in _SECONDS))


class DurationError(ValueError):
    """The text is no length of time; the message says what would be."""


def parse_duration(text: str) -> timedelta:
    """Return the length of time that *text* spells, or raise `DurationError`."""
    found = _SHAPE.fullmatch(text.strip())
    parts = {unit: int(number) for unit, number in found.groupdict("0").items()} if found else {}
    seconds = sum(_SECONDS[unit] * number for unit, number in parts.items())
    if not seconds:
        raise DurationError(f"{text!r} is no length of time such as 30m, 2h or 1h30m")
    return timedelta(seconds=seconds)


def render_duration(length: timedelta) -> str:
    """Return *length* as a person would write it."""
    rest, text = int(length.total_seconds()), ""
    for unit, seconds in _SECONDS.items():
        number, rest = divmod(rest, seconds)
        text += f"{number}{unit}" if number else ""
    return text or "0s"
