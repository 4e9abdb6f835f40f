"""A new file is on the disk only when the folder that names it is."""

import os
from pathlib import Path

import pytest

from glasswarden.ledger.chain import create_once
from tests.ledger.builders import an_attempt, records_of
from tests.ledger.test_spool import a_spool


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return the inodes of what is synced from now on."""
    inodes: set[int] = set()
    sync = os.fsync

    def watched(file: int) -> None:
        inodes.add(os.fstat(file).st_ino)
        sync(file)

    monkeypatch.setattr(os, "fsync", watched)
    return inodes


def test_spool_syncs_the_folders_that_it_creates(tmp_path: Path, synced: set[int]) -> None:
    a_spool(tmp_path / "var" / "spool").append(records_of(an_attempt()))
    made = (tmp_path, tmp_path / "var", tmp_path / "var" / "spool")
    assert {each.stat().st_ino for each in made} <= synced


def test_secret_syncs_the_folder_that_it_creates(tmp_path: Path, synced: set[int]) -> None:
    create_once(tmp_path / "keys" / "secret", b"content")
    assert {each.stat().st_ino for each in (tmp_path, tmp_path / "keys")} <= synced
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
