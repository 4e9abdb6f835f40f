"""Times as people type them: `90m`, `7d`, `1d12h`, or a moment such as 2026-03-01T12:00:00Z."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import click

from glasswarden.duration import DurationError, parse_duration


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment to go by instead of the machine's clock; a caller gives it as click's `obj`."""

    time: datetime


def now() -> datetime:
    """Return what time it is for the command that runs."""
    context = click.get_current_context(silent=True)
    given = context.find_object(Moment) if context else None
    return given.time if given else datetime.now(UTC)


class TimeUnclear(ValueError):
    """Text that is no moment; the message shows one that is."""


def parse_moment(text: str, now: datetime) -> datetime:
    """Return the moment that *text* says; a length of time is counted back from *now*.

    A date alone is its first instant, and what names no zone is in UTC, like all that we print.
    """
    try:
        return now - parse_duration(text)
    except DurationError:
        pass  # then it is a moment, or nothing
    except OverflowError as error:
        raise _unclear(text, now) from error
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise _unclear(text, now) from error


def _unclear(text: str, now: datetime) -> TimeUnclear:
    return TimeUnclear(f"{text!r} is no time; try 2h, 7d or {now:%Y-%m-%dT%H:%M:%SZ}")


class DurationType(click.ParamType[timedelta]):
    """An option that takes a length of time."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return *value* as a length of time, or end with what is wrong with it."""
        try:
            return parse_duration(str(value))
        except DurationError as error:
            self.fail(str(error), param, ctx)


class MomentType(click.ParamType[datetime]):
    """An option that takes a moment, or how long ago it was."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return *value* as a moment, or end with what is wrong with it."""
        try:
            return parse_moment(str(value), now())
        except TimeUnclear as error:
            self.fail(str(error), param, ctx)


DURATION: Final = DurationType()
MOMENT: Final = MomentType()
