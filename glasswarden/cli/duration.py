"""Durations on the command line: `90d`, `12h`, `30s`, or several together."""

import re
from datetime import timedelta
from typing import Any

import click

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_PART = re.compile(r"(\d+(?:\.\d+)?)([dhms])")


class Duration(click.ParamType[timedelta]):
    """A length of time."""

    name = "duration"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - what click passes: text, or a default that is one already
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> timedelta:
        """Return *value* as a timedelta."""
        if isinstance(value, timedelta):
            return value
        if not re.fullmatch(f"(?:{_PART.pattern})+", value):
            self.fail(f"{value!r} is no duration such as 90d, 12h or 30s", param, ctx)
        return sum(
            (timedelta(**{_UNITS[unit]: float(number)}) for number, unit in _PART.findall(value)),
            timedelta(),
        )


DURATION = Duration()


def spelled(length: timedelta) -> str:
    """Return *length* in its largest units, such as `2 days` or `14 min`."""
    seconds = int(abs(length).total_seconds())
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
