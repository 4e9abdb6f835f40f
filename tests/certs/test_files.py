"""What is written is read back, and files that are no state of ours are rejected."""

from collections.abc import Callable
from pathlib import Path

import pytest

from certs.files import (
    AUTHORITIES,
    CERTIFICATE,
    KEY,
    Folder,
    StateUnreadable,
    files_of,
    parse_state,
)
from certs.rotation import State
from tests.certs.builders import NOW, overlapping, publishing, steady


@pytest.mark.parametrize("state", [steady, publishing, overlapping])
def test_written_state_is_read_back_unchanged(tmp_path: Path, state: Callable[[], State]) -> None:
    kept = state()
    Folder(tmp_path).write(kept)
    read = Folder(tmp_path).read()
    assert read is not None
    assert files_of(read) == files_of(kept)
    assert (read.phase, read.served_since) == (kept.phase, kept.served_since)


def test_files_of_the_next_pair_are_deleted_once_it_is_served(tmp_path: Path) -> None:
    Folder(tmp_path).write(publishing())
    Folder(tmp_path).write(overlapping())
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("next")]


def test_private_key_of_the_authority_is_never_written(tmp_path: Path) -> None:
    Folder(tmp_path).write(publishing())
    keys = [path for path in tmp_path.iterdir() if b"PRIVATE KEY" in path.read_bytes()]
    assert sorted(path.name for path in keys) == ["next.key", "tls.key"]


def test_empty_folder_has_no_state(tmp_path: Path) -> None:
    assert Folder(tmp_path).read() is None


def test_files_without_rotation_state_are_read() -> None:
    """They say nothing of when the certificate was first served."""
    state = steady()
    files = files_of(state)
    del files["rotation.json"]
    assert parse_state(files).served_since < NOW


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param({KEY: b"nothing"}, "not the files", id="no key"),
        pytest.param({KEY: files_of(steady())[KEY]}, "another certificate", id="another key"),
        pytest.param({CERTIFICATE: b""}, "not the files", id="empty"),
        pytest.param(
            {AUTHORITIES: files_of(steady())[AUTHORITIES]}, "no authority", id="another authority"
        ),
        pytest.param({"rotation.json": b"{"}, "not the files", id="progress cut off"),
    ],
)
def test_files_that_do_not_match_each_other_are_rejected(
    changed: dict[str, bytes], reason: str
) -> None:
    with pytest.raises(StateUnreadable, match=reason):
        parse_state(files_of(steady()) | changed)
