"""The keys of a ledger: created once, never replaced, and rejected if invalid."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from glasswarden.keys.folder import rotate_keys
from glasswarden.ledger.chain import FILE, is_signed
from glasswarden.ledger.errors import KeyUnusable
from glasswarden.ledger.keys import PREFIX, make_keys, open_keys

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DIGEST = "ab" * 32


def test_keys_are_created_once(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", NOW)
    first = open_keys(tmp_path / "keys")
    make_keys(tmp_path / "keys", NOW + timedelta(days=1))
    again = open_keys(tmp_path / "keys")
    assert again.signer.public_key == first.signer.public_key
    assert first.masks.matches(again.masks.mask("/a", "b", NOW), "/a", "b") is True


def test_keys_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", NOW)
    assert {file.stat().st_mode & 0o077 for file in (tmp_path / "keys").iterdir()} == {0}


def test_missing_keys_are_reported(tmp_path: Path) -> None:
    with pytest.raises(KeyUnusable, match=FILE):
        open_keys(tmp_path)


def test_invalid_key_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("no key")
    with pytest.raises(KeyUnusable, match=FILE):
        open_keys(tmp_path)


def test_signature_is_valid_for_one_record_and_one_key(tmp_path: Path) -> None:
    make_keys(tmp_path / "one", NOW)
    make_keys(tmp_path / "other", NOW)
    one, other = open_keys(tmp_path / "one").signer, open_keys(tmp_path / "other").signer
    signature = one.sign(DIGEST)
    assert is_signed(DIGEST, signature, one.public_key)
    assert not is_signed("cd" * 32, signature, one.public_key)
    assert not is_signed(DIGEST, signature, other.public_key)
    assert not is_signed(DIGEST, "no base64", one.public_key)
    assert not is_signed(DIGEST, signature, "no key")


def test_value_masked_by_an_older_key_is_recognised(tmp_path: Path) -> None:
    make_keys(tmp_path, NOW)
    masked = open_keys(tmp_path).masks.mask("/data/token", "secret", NOW)
    rotate_keys(tmp_path, PREFIX, NOW + timedelta(days=1), keep=timedelta(days=9999))
    later = open_keys(tmp_path).masks
    assert later.matches(masked, "/data/token", "secret") is True
    assert later.mask("/data/token", "secret", NOW + timedelta(days=2)) != masked


def test_mask_of_a_missing_key_cannot_be_compared(tmp_path: Path) -> None:
    make_keys(tmp_path / "one", NOW)
    make_keys(tmp_path / "other", NOW + timedelta(seconds=1))
    masked = open_keys(tmp_path / "one").masks.mask("/a", 1, NOW)
    assert open_keys(tmp_path / "other").masks.matches(masked, "/a", 1) is None
