"""Keys in a folder: made, read, rotated, revoked."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from glasswarden.keys.folder import (
    SETTLING,
    KeysUnreadable,
    find_key_files,
    new_key,
    read_ring,
    rotate_keys,
)

NOW = datetime(2026, 11, 16, 19, 0, tzinfo=UTC)
KEEP = timedelta(hours=8)


def test_new_key_is_found_by_its_time_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    key = new_key(tmp_path, "grant", NOW)
    [path] = find_key_files(tmp_path, "grant")
    assert (path.name, path.stat().st_mode & 0o777) == ("grant-20261116T190000Z.key", 0o600)
    assert read_ring(tmp_path, "grant").get(key.id) == key
    assert list(tmp_path.iterdir()) == [path]


def test_keys_for_other_purposes_are_ignored(tmp_path: Path) -> None:
    new_key(tmp_path, "grant", NOW)
    new_key(tmp_path, "ledger", NOW)
    assert len(read_ring(tmp_path, "grant")) == 1


def test_existing_key_is_never_overwritten(tmp_path: Path) -> None:
    new_key(tmp_path, "grant", NOW)
    before = read_ring(tmp_path, "grant").current_key(NOW)
    with pytest.raises(FileExistsError):
        new_key(tmp_path, "grant", NOW)
    assert read_ring(tmp_path, "grant").current_key(NOW) == before


def test_missing_folder_has_no_keys(tmp_path: Path) -> None:
    assert len(read_ring(tmp_path / "none", "grant")) == 0


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("grant-tomorrow.key", "eA==", "its name holds no time"),
        ("grant-20261116T190000Z.key", "not base64!", "Only base64 data is allowed"),
        ("grant-20261116T190000Z.key", "c2hvcnQ=", "a key has 32 bytes, not 5"),
    ],
)
def test_invalid_key_file_is_reported_by_name(
    tmp_path: Path, name: str, content: str, complaint: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(KeysUnreadable) as caught:
        read_ring(tmp_path, "grant")
    assert name in str(caught.value)
    assert complaint in str(caught.value)


def test_first_key_signs_at_once_and_the_next_after_the_settling_time(tmp_path: Path) -> None:
    first = rotate_keys(tmp_path, "grant", NOW, KEEP)
    later = NOW + timedelta(days=1)
    second = rotate_keys(tmp_path, "grant", later, KEEP)
    ring = read_ring(tmp_path, "grant")
    assert ring.current_key(NOW) == first
    assert ring.current_key(later) == first
    assert ring.current_key(later + SETTLING) == second


def test_key_is_deleted_when_all_its_signatures_have_expired(tmp_path: Path) -> None:
    first = rotate_keys(tmp_path, "grant", NOW, KEEP)
    second = rotate_keys(tmp_path, "grant", NOW + timedelta(days=1), KEEP)
    rotate_keys(tmp_path, "grant", second.active_from + KEEP, KEEP)
    assert read_ring(tmp_path, "grant").get(first.id) is not None
    rotate_keys(tmp_path, "grant", second.active_from + KEEP + timedelta(seconds=1), KEEP)
    ring = read_ring(tmp_path, "grant")
    assert ring.get(first.id) is None
    assert ring.get(second.id) is not None
