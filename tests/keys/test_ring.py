"""Keys sign from when they are active, and verify until they are removed."""

from datetime import UTC, datetime, timedelta

import pytest

from glasswarden.keys.ring import Key, NoKey, Ring

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_key(name: str, age: timedelta = timedelta()) -> Key:
    return Key(name, name.encode() * 8, NOW - age)


def test_newest_active_key_signs() -> None:
    ring = Ring([a_key("older", timedelta(days=2)), a_key("newer", timedelta(days=1))])
    assert ring.current_key(NOW).id == "newer"
    assert ring.sign(b"message", NOW)[0] == "newer"


def test_future_key_verifies_without_signing() -> None:
    coming = a_key("coming", -timedelta(minutes=5))
    ring = Ring([a_key("current"), coming])
    assert ring.current_key(NOW).id == "current"
    ahead = Ring([coming]).sign(b"message", coming.active_from)
    assert ring.verifies(ahead[0], b"message", ahead[1])


def test_signing_without_a_key_is_an_error() -> None:
    with pytest.raises(NoKey):
        Ring().sign(b"message", NOW)


def test_first_key_signs_despite_a_slow_clock() -> None:
    first, second = (a_key(name, -timedelta(seconds=s)) for name, s in (("one", 20), ("two", 300)))
    assert Ring([second, first]).current_key(NOW).id == "one"


def test_signature_is_valid_for_one_key_and_one_message() -> None:
    ring = Ring([a_key("one"), a_key("two")])
    key_id, mac = ring.sign(b"message", NOW)
    assert ring.verifies(key_id, b"message", mac)
    assert not ring.verifies(key_id, b"another", mac)
    assert not ring.verifies("one", b"message", mac)
    assert not ring.verifies(key_id, b"message", mac[:-1])
    assert not Ring([a_key("one")]).verifies(key_id, b"message", mac)


def test_repr_of_a_key_hides_the_secret() -> None:
    assert "one" * 8 not in repr(a_key("one"))
