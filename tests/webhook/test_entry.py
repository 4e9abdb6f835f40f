"""What a write leaves in the ledger: what a reviewer needs, and no more than can be kept."""

from typing import Any

from glasswarden.kube.objects import Ref
from glasswarden.ledger.record import Entry
from glasswarden.policy.policy import DEFAULT
from tests.policy.builders import NOW, a_change, a_write, decided
from webhook.entry import LARGEST_VALUE, MOST_CHANGES, entry_of


def entry(**differing: Any) -> Entry:  # noqa: ANN401 - any field of a write
    write = a_write(**differing)
    return entry_of(write, decided(write), DEFAULT, NOW, b"0123456789")


def test_a_value_that_was_not_there_is_left_out() -> None:
    [added] = entry(changes=(a_change("/spec/paused", new=True),)).changes
    assert (added["new"], "old" in added) == (True, False)
    [nulled] = entry(changes=(a_change("/spec/paused", True, None),)).changes
    assert nulled["new"] is None


def test_a_secrets_values_are_not_stored() -> None:
    secret = Ref("", "v1", "Secret", "shop", "db")
    [change] = entry(target=secret, changes=(a_change("/data/password", "a", "b"),)).changes
    assert change == {"path": "/data/password", "manager": "kubectl-edit", "hidden": True}


def test_a_large_value_is_kept_as_its_length_and_digest() -> None:
    large = "x" * (2 * LARGEST_VALUE)
    [change] = entry(changes=(a_change("/data/blob", "small", large),)).changes
    assert change["old"] == "small"
    assert change["new_cut"]["length"] == len(large) + 2
    assert len(change["new_cut"]["sha256"]) == 64
    assert "new" not in change


def test_more_changes_than_a_person_makes_are_counted() -> None:
    changes = tuple(a_change(f"/spec/f{number}", 0, 1) for number in range(MOST_CHANGES + 7))
    recorded = entry(changes=changes)
    assert (len(recorded.changes), recorded.unlisted) == (MOST_CHANGES, 7)
