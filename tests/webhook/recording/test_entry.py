"""What a write adds to the ledger: what a reviewer needs, within limits."""

from typing import Any

import msgspec

from glasswarden.kube.objects import Ref
from glasswarden.ledger.record import Attempt
from tests.ledger.builders import MASKS
from tests.policy.builders import a_case, a_change, a_write, decided
from tests.webhook.builders import a_review
from webhook.recording.entry import LARGEST_VALUE, LONGEST_EXTRA, MOST_CHANGES, MOST_EXTRA, entry_of
from webhook.review import parse_review


def entry(*, review: bytes | None = None, **differing: Any) -> Attempt:  # noqa: ANN401 - any field
    write = a_write(**differing)
    request = parse_review(review or a_review())
    return entry_of(request, a_case(write), decided(write), MASKS, b"0123456789")


def test_absent_value_is_left_out() -> None:
    [added] = entry(changes=(a_change("/spec/paused", new=True),)).changes
    assert (added.new, added.old) == (True, msgspec.UNSET)
    [nulled] = entry(changes=(a_change("/spec/paused", True, None),)).changes
    assert nulled.new is None


def test_values_of_a_secret_are_masked() -> None:
    secret = Ref("", "v1", "Secret", "shop", "db")
    [change] = entry(target=secret, changes=(a_change("/data/password", "a", "b"),)).changes
    assert (change.old, change.new) == (msgspec.UNSET, msgspec.UNSET)
    assert MASKS.matches(change.new_masked, "/data/password", "b") is True
    assert MASKS.matches(change.new_masked, "/data/password", "c") is False
    assert MASKS.matches(change.new_masked, "/data/other", "b") is False


def test_large_value_is_recorded_as_length_and_digest() -> None:
    large = "x" * (2 * LARGEST_VALUE)
    [change] = entry(changes=(a_change("/data/blob", "small", large),)).changes
    assert (change.old, change.new) == ("small", msgspec.UNSET)
    assert change.new_cut is not None
    assert change.new_cut.length == len(large) + 2
    assert len(change.new_cut.sha256) == 64


def test_changes_beyond_the_limit_are_counted() -> None:
    changes = tuple(a_change(f"/spec/f{number}", 0, 1) for number in range(MOST_CHANGES + 7))
    recorded = entry(changes=changes)
    assert (len(recorded.changes), recorded.unlisted) == (MOST_CHANGES, 7)


def extra_of(extra: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return entry(review=a_review(userInfo={"username": "developer", "extra": extra})).extra


def test_extra_of_the_authenticator_is_recorded() -> None:
    """A cloud's account is shared by many people; the session's name identifies the person."""
    extra = {
        "authentication.kubernetes.io/credential-id": ["X509SHA256=ab"],
        "sessionName": ["ann@example.com"],
    }
    assert extra_of(extra) == {name: tuple(values) for name, values in extra.items()}


def test_extra_of_the_authenticator_is_limited_in_number_and_length() -> None:
    many = {f"key-{number:03}": [str(each) for each in range(50)] for number in range(50)}
    kept = extra_of(many)
    assert list(kept) == sorted(many)[:MOST_EXTRA]
    assert {len(values) for values in kept.values()} == {MOST_EXTRA}
    long = "x" * (LONGEST_EXTRA + 1)
    assert extra_of({"token": [long, "short"], long: ["x"], "empty": []}) == {"token": ("short",)}
    assert extra_of({"user-assertion.cloud.google.com": ["AKUJVpk"]}) == {}


class TestFingerprint:
    def test_retries_of_a_write_have_the_same_fingerprint_despite_other_old_values(self) -> None:
        first = entry(changes=(a_change("/spec/replicas", 3, 5),))
        again = entry(changes=(a_change("/spec/replicas", 4, 5),))
        assert first.fingerprint == again.fingerprint

    def test_fingerprint_differs_by_value_and_manager(self) -> None:
        first = entry(changes=(a_change("/spec/replicas", 3, 5),))
        for other in (
            entry(changes=(a_change("/spec/replicas", 3, 6),)),
            entry(changes=(a_change("/spec/replicas", 3),)),
            entry(changes=(a_change("/spec/replicas", 3, 5),), manager="kubectl-patch"),
        ):
            assert other.fingerprint != first.fingerprint
