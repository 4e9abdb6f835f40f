"""Times as people type them: `2d`, `12h`, or a date."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import click

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGE: Final = re.compile(r"(\d{1,6})([smhdw])")


def age(text: str) -> timedelta:
    """Return the length of time that *text* names."""
    found = _AGE.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no length of time; try 45s, 30m, 12h or 400d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def moment(text: str) -> datetime:
    """Return the instant that *text* names: so long ago, or a date; in UTC, unless it says so."""
    if _AGE.fullmatch(text):
        return datetime.now(UTC) - age(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is no time; try 2d, 2026-03-01 or 2026-03-01T12:00"
        ) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)
