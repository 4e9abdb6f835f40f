"""Times as people type them: `90m`, `7d`, `1d12h`, or a moment such as 2026-03-01T12:00:00Z."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import click

_UNITS: Final = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
}
_PART: Final = re.compile(r"([0-9]{1,9})([wdhms])")
_DURATION: Final = re.compile(f"(?:{_PART.pattern})+")


class TimeUnclear(ValueError):
    """Text that is no length of time, or no moment; the message shows one that is."""


def parse_duration(text: str) -> timedelta:
    """Return the length of time that *text* says."""
    if not _DURATION.fullmatch(text):
        raise TimeUnclear(f"{text!r} is no length of time; try 90m, 7d or 1d12h")
    try:
        parts = (int(count) * _UNITS[unit] for count, unit in _PART.findall(text))
        return sum(parts, timedelta())
    except OverflowError as error:
        raise TimeUnclear(f"{text!r} is longer than time goes back") from error


def parse_moment(text: str, now: datetime) -> datetime:
    """Return the moment that *text* says; a length of time is counted back from *now*.

    A date alone is its first instant, and what names no zone is in UTC, like all that we print.
    """
    try:
        if _DURATION.fullmatch(text):
            return now - parse_duration(text)
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise TimeUnclear(f"{text!r} is no time; try 2h, 7d or {now:%Y-%m-%dT%H:%M:%SZ}") from error


class DurationType(click.ParamType[timedelta]):
    """An option that takes a length of time."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return *value* as a length of time, or end with what is wrong with it."""
        try:
            return parse_duration(str(value))
        except TimeUnclear as error:
            self.fail(str(error), param, ctx)


class MomentType(click.ParamType[datetime]):
    """An option that takes a moment, or how long ago it was."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return *value* as a moment, or end with what is wrong with it."""
        try:
            return parse_moment(str(value), datetime.now(UTC))
        except TimeUnclear as error:
            self.fail(str(error), param, ctx)


DURATION: Final = DurationType()
MOMENT: Final = MomentType()
