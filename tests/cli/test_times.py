"""Times as people type them."""

from datetime import UTC, datetime, timedelta

import click
import pytest
from click.testing import CliRunner

from glasswarden.cli.options import DURATION, MOMENT, TimeUnclear, parse_moment

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("2h", timedelta(hours=2)),
        ("7d", timedelta(days=7)),
        ("2w", timedelta(weeks=2)),
        ("1d12h", timedelta(hours=36)),
        ("400d", timedelta(days=400)),
        ("0s", timedelta()),
    ],
)
def test_duration_is_subtracted_from_now(text: str, duration: timedelta) -> None:
    assert parse_moment(text, NOW) == NOW - duration


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-02-28T10:00:00Z", datetime(2026, 2, 28, 10, tzinfo=UTC)),
        ("2026-02-28T10:00:00+02:00", datetime(2026, 2, 28, 8, tzinfo=UTC)),
        ("2026-02-28T10:00:00.25Z", datetime(2026, 2, 28, 10, 0, 0, 250_000, tzinfo=UTC)),
        ("2026-02-28 10:00", datetime(2026, 2, 28, 10, tzinfo=UTC)),
        ("2026-02-28", datetime(2026, 2, 28, tzinfo=UTC)),
    ],
)
def test_timestamp_is_converted_to_utc(text: str, moment: datetime) -> None:
    found = parse_moment(text, NOW)
    assert found == moment
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "999999999w", "0001-01-01T00:00:00+10:00"]
)
def test_invalid_time_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(TimeUnclear, match="try 2h, 7d or 2026-03-01T12:00:00Z"):
        parse_moment(text, NOW)


def test_option_types_convert_times_and_report_invalid_ones() -> None:
    @click.command()
    @click.option("--since", type=MOMENT)
    @click.option("--keep", type=DURATION)
    def command(since: datetime, keep: timedelta) -> None:
        click.echo(f"{since:%Y} {keep.days}")

    run = CliRunner().invoke
    assert run(command, ["--since", "2026-01-01", "--keep", "400d"]).output == "2026 400\n"
    for option in ("--since", "--keep"):
        refused = run(command, [option, "soon"])
        assert refused.exit_code == 2
        assert "'soon' is no" in refused.output
