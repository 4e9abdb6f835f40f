"""Durations as people write them: `30m`, `2h`, `1h30m`, `2w`."""

import re
from datetime import timedelta
from typing import Final

_SECONDS: Final = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
_SHAPE: Final = re.compile("".join(rf"(?:(?P<{unit}>[0-9]{{1,5}}){unit})?" for unit in _SECONDS))


class DurationError(ValueError):
    """The text is not a duration; the message shows valid ones."""


def parse_duration(text: str) -> timedelta:
    """Return the duration in *text*, or raise `DurationError`; `0s` is valid."""
    found = _SHAPE.fullmatch(text.strip())
    if found is None or not found[0]:
        raise _new_error(text)
    numbers = found.groupdict("0")
    return timedelta(seconds=sum(size * int(numbers[unit]) for unit, size in _SECONDS.items()))


def parse_positive_duration(text: str) -> timedelta:
    """Return the duration in *text*, or raise `DurationError`; `0s` is not valid."""
    length = parse_duration(text)
    if not length:
        raise _new_error(text)
    return length


def render_duration(length: timedelta) -> str:
    """Return *length* as text, such as `1h30m`."""
    rest, text = int(length.total_seconds()), ""
    for unit, seconds in _SECONDS.items():
        if unit == "w":
            continue  # 30d is easier to read than 4w2d
        number, rest = divmod(rest, seconds)
        text += f"{number}{unit}" if number else ""
    return text or "0s"


def _new_error(text: str) -> DurationError:
    return DurationError(f"{text!r} is not a duration such as 30m, 2h or 1h30m")
