"""Keys are reloaded when the folder changes; what cannot be read changes nothing."""

from datetime import timedelta
from pathlib import Path

import pytest

from glasswarden.keys.folder import KeysUnreadable, new_key
from glasswarden.keys.ring import Ring
from glasswarden.policy.breakglass.tokens import KeyUnknown, issue_stamp, read_stamp
from tests.policy.breakglass.builders import a_stamp
from tests.policy.builders import NOW
from webhook.reloading import PREFIX, GrantKeys


def test_ring_without_a_folder_is_empty() -> None:
    keys = GrantKeys(None)
    keys.refresh()
    assert len(keys.ring) == 0


def test_two_replicas_accept_each_others_stamps_while_keys_rotate(tmp_path: Path) -> None:
    new_key(tmp_path, PREFIX, NOW)
    one, other = GrantKeys(tmp_path), GrantKeys(tmp_path)
    later = NOW + timedelta(minutes=5)
    newer = new_key(tmp_path, PREFIX, later)
    one.refresh()
    before = issue_stamp(a_stamp(), one.ring, later - timedelta(seconds=1))
    assert read_stamp(before, other.ring) == a_stamp()  # it does not sign before everybody has it
    other.refresh()
    after = issue_stamp(a_stamp(), one.ring, later)
    assert f".{newer.id}." in after
    assert read_stamp(after, other.ring) == read_stamp(before, other.ring) == a_stamp()


def test_stamp_of_a_deleted_key_is_rejected(tmp_path: Path) -> None:
    key = new_key(tmp_path, PREFIX, NOW)
    keys = GrantKeys(tmp_path)
    token = issue_stamp(a_stamp(), keys.ring, NOW)
    (tmp_path / f"{PREFIX}-{key.id}.key").unlink()
    keys.refresh()
    with pytest.raises(KeyUnknown):
        read_stamp(token, keys.ring)


def test_broken_file_keeps_the_previous_keys(tmp_path: Path) -> None:
    key = new_key(tmp_path, PREFIX, NOW)
    keys = GrantKeys(tmp_path)
    (tmp_path / f"{PREFIX}-20260401T000000Z.key").write_text("torn")
    keys.refresh()
    assert keys.ring.get(key.id) is not None


def test_broken_file_prevents_the_start(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}-20260401T000000Z.key").write_text("torn")
    with pytest.raises(KeysUnreadable):
        GrantKeys(tmp_path)


def test_unforeseen_error_keeps_the_previous_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task that follows the folder would end with the first error that it does not know."""
    key = new_key(tmp_path, PREFIX, NOW)
    keys = GrantKeys(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr("webhook.reloading.read_ring", raise_unforeseen)
        keys.refresh()
    assert keys.ring.get(key.id) is not None
    newer = new_key(tmp_path, PREFIX, NOW + timedelta(days=1))
    keys.refresh()
    assert keys.ring.get(newer.id) is not None


def raise_unforeseen(_folder: Path, _prefix: str) -> Ring:
    raise ZeroDivisionError
