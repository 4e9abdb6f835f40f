"""Lengths of time, as people write them."""

from datetime import timedelta

import pytest

from glasswarden.duration import (
    DurationError,
    parse_duration,
    parse_positive_duration,
    render_duration,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("2h", 7200),
        ("1h30m", 5400),
        ("90s", 90),
        ("1d", 86400),
        (" 5m ", 300),
        ("1w", 604800),
        ("0s", 0),
    ],
)
def test_duration_is_parsed(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "30", "m", "-5m", "1.5h", "30m1h", "1h 30m", "٣m", "999999h", "30M"]
)
def test_invalid_duration_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(DurationError, match="is not a duration such as 30m, 2h or 1h30m"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["30m", "2h", "1h30m", "1d1s", "4h"])
def test_duration_is_rendered_as_it_was_written(text: str) -> None:
    assert render_duration(parse_duration(text)) == text


def test_span_of_zero_is_rejected() -> None:
    assert parse_positive_duration("1s") == timedelta(seconds=1)
    with pytest.raises(DurationError):
        parse_positive_duration("0m")
