"""What a write leaves in the ledger: what a reviewer needs, and no more than can be kept."""

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


def test_a_value_that_was_not_there_is_left_out() -> None:
    [added] = entry(changes=(a_change("/spec/paused", new=True),)).changes
    assert (added.new, added.old) == (True, msgspec.UNSET)
    [nulled] = entry(changes=(a_change("/spec/paused", True, None),)).changes
    assert nulled.new is None


def test_a_secrets_values_are_masked() -> None:
    secret = Ref("", "v1", "Secret", "shop", "db")
    [change] = entry(target=secret, changes=(a_change("/data/password", "a", "b"),)).changes
    assert (change.old, change.new) == (msgspec.UNSET, msgspec.UNSET)
    assert MASKS.matches(change.new_masked, "/data/password", "b") is True
    assert MASKS.matches(change.new_masked, "/data/password", "c") is False
    assert MASKS.matches(change.new_masked, "/data/other", "b") is False


def test_a_large_value_is_kept_as_its_length_and_digest() -> None:
    large = "x" * (2 * LARGEST_VALUE)
    [change] = entry(changes=(a_change("/data/blob", "small", large),)).changes
    assert (change.old, change.new) == ("small", msgspec.UNSET)
    assert change.new_cut is not None
    assert change.new_cut.length == len(large) + 2
    assert len(change.new_cut.sha256) == 64


def test_more_changes_than_a_person_makes_are_counted() -> None:
    changes = tuple(a_change(f"/spec/f{number}", 0, 1) for number in range(MOST_CHANGES + 7))
    recorded = entry(changes=changes)
    assert (len(recorded.changes), recorded.unlisted) == (MOST_CHANGES, 7)


def extra_of(extra: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return entry(review=a_review(userInfo={"username": "developer", "extra": extra})).extra


def test_what_the_authenticator_said_is_kept() -> None:
    """A cloud's account is shared by many people; the session's name says who it was."""
    extra = {
        "authentication.kubernetes.io/credential-id": ["X509SHA256=ab"],
        "sessionName": ["ann@example.com"],
    }
    assert extra_of(extra) == {name: tuple(values) for name, values in extra.items()}


def test_but_no_more_than_names_anybody_and_no_credential() -> None:
    many = {f"key-{number:03}": [str(each) for each in range(50)] for number in range(50)}
    kept = extra_of(many)
    assert list(kept) == sorted(many)[:MOST_EXTRA]
    assert {len(values) for values in kept.values()} == {MOST_EXTRA}
    long = "x" * (LONGEST_EXTRA + 1)
    assert extra_of({"token": [long, "short"], long: ["x"], "empty": []}) == {"token": ("short",)}
    assert extra_of({"user-assertion.cloud.google.com": ["AKUJVpk"]}) == {}


class TestFingerprint:
    def test_tries_of_one_write_are_alike_whatever_stood_there_before(self) -> None:
        first = entry(changes=(a_change("/spec/replicas", 3, 5),))
        again = entry(changes=(a_change("/spec/replicas", 4, 5),))
        assert first.fingerprint == again.fingerprint

    def test_another_value_or_person_is_another_write(self) -> None:
        first = entry(changes=(a_change("/spec/replicas", 3, 5),))
        for other in (
            entry(changes=(a_change("/spec/replicas", 3, 6),)),
            entry(changes=(a_change("/spec/replicas", 3),)),
            entry(changes=(a_change("/spec/replicas", 3, 5),), manager="kubectl-patch"),
        ):
            assert other.fingerprint != first.fingerprint
