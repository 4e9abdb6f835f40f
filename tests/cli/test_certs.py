"""`glasswarden certs` on a folder; on a Secret in tests/cluster/test_certs.py."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from certs.files import issue_into
from glasswarden.cli.options import DURATION, render_span
from tests.cli.test_main import run


@pytest.fixture
def folder(tmp_path: Path) -> str:
    run("certs", "issue", "--dir", str(tmp_path), "--host", "localhost", "--host", "::1")
    return str(tmp_path)


def test_show_lists_hosts_expiry_and_trusted_authority(folder: str) -> None:
    shown = run("certs", "show", "--dir", folder).stdout
    lines = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert lines["hosts"] == "localhost, ::1"
    assert lines["expires"].endswith("in 89 days")
    assert lines["trusted"].startswith("sha256:")
    assert "steady" in lines


def test_show_lists_both_authorities_of_a_begun_rotation(folder: str) -> None:
    begun = run("certs", "rotate", "--dir", folder, "--begin-only")
    assert begun.returncode == 0, begun.stderr
    shown = run("certs", "show", "--dir", folder).stdout
    assert shown.count("trusted") == 2
    assert "publishing" in shown


def test_valid_certificate_passes_the_check(folder: str) -> None:
    checked = run("certs", "check", "--dir", folder)
    assert (checked.returncode, checked.stdout) == (0, "valid for 89 days, steady\n")


@pytest.mark.parametrize(
    ("age", "says"),
    [(timedelta(days=70), "it expires in"), (timedelta(days=95), "expired 5 days ago")],
    ids=["due", "expired"],
)
def test_due_or_expired_certificate_fails_the_check(
    tmp_path: Path, age: timedelta, says: str
) -> None:
    issue_into(tmp_path, ["localhost"], datetime.now(UTC) - age)
    checked = run("certs", "check", "--dir", str(tmp_path))
    assert checked.returncode == 1
    assert says in checked.stderr


@pytest.mark.parametrize("places", [(), ("--dir", "x", "--secret", "a/b")], ids=["none", "two"])
def test_exactly_one_of_dir_and_secret_is_required(places: tuple[str, ...]) -> None:
    shown = run("certs", "show", *places)
    assert shown.returncode == 2
    assert "--dir or --secret" in shown.stderr


def test_empty_folder_is_reported_with_the_command_that_fills_it(tmp_path: Path) -> None:
    shown = run("certs", "show", "--dir", str(tmp_path))
    assert shown.returncode == 1
    assert "glasswarden certs issue" in shown.stderr


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("90d", timedelta(days=90)),
        ("1h30m", timedelta(minutes=90)),
        ("0.5s", timedelta(seconds=0.5)),
        ("2w", timedelta(weeks=2)),
        ("30m1h", timedelta(minutes=90)),
    ],
)
def test_fractional_durations_are_parsed(text: str, length: timedelta) -> None:
    assert DURATION.convert(text, None, None) == length


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "1 d", "9999999999d"])
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is not a duration|is too long"):
        DURATION.convert(text, None, None)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(days=89, hours=3), "89 days"),
        (timedelta(hours=30), "30 h"),
        (timedelta(minutes=3), "3 min"),
        (timedelta(seconds=-9), "9 s"),
    ],
)
def test_durations_are_rendered_in_their_largest_unit(length: timedelta, text: str) -> None:
    assert render_span(length) == text
