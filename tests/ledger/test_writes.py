"""The attempts of one write are recognised as such."""

from datetime import timedelta
from typing import Any

import pytest

from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.writes import RETRY_WINDOW, attempts_in, writes_of
from tests.ledger.builders import TIME, an_attempt, an_opening, records_of


def a_try(seconds: float = 0, **differing: Any) -> Attempt:  # noqa: ANN401 - any field of it
    time = TIME + timedelta(seconds=seconds)
    return an_attempt(**{"time": time, "fingerprint": "f1"} | differing)


def test_similar_tries_within_the_retry_window_are_one_write() -> None:
    tries = [a_try(0), a_try(1), a_try(2)]
    assert writes_of(tries) == [tuple(tries)]


@pytest.mark.parametrize(
    "differing",
    [
        {"fingerprint": "f2"},
        {"verdict": "allow"},
        {"object_uid": "another"},
        {"cluster": "east"},
        {"namespace": "till"},
        {"name": "api"},
        {"kind": "Service"},
        {"group": "batch"},
    ],
    ids="".join,
)
def test_tries_that_differ_are_separate_writes(differing: dict[str, str]) -> None:
    assert len(writes_of([a_try(0), a_try(1, **differing)])) == 2


def test_creations_without_a_uid_are_distinguished_by_name() -> None:
    created = [a_try(0, object_uid="", name="api"), a_try(0.1, object_uid="", name="web")]
    assert len(writes_of(created)) == 2


def test_tries_around_another_write_are_one_write() -> None:
    first, other, again = a_try(0), a_try(1, fingerprint="f2"), a_try(2)
    assert writes_of([first, other, again]) == [(first, again), (other,)]


def test_try_after_the_retry_window_is_a_separate_write() -> None:
    later = RETRY_WINDOW.total_seconds() + 0.001
    assert len(writes_of([a_try(0), a_try(later)])) == 2


def test_retry_window_begins_at_the_previous_try() -> None:
    step = RETRY_WINDOW.total_seconds()
    assert len(writes_of([a_try(0), a_try(step), a_try(2 * step)])) == 1


def test_tries_without_a_fingerprint_are_separate_writes() -> None:
    assert len(writes_of([a_try(0, fingerprint=""), a_try(1, fingerprint="")])) == 2


def test_only_attempts_since_a_time_are_read_from_the_ledger(ledger: Ledger) -> None:
    early, late = a_try(0), a_try(10)
    ledger.append(records_of(an_opening(), early, late))
    assert [each.id for each in attempts_in(ledger)] == [early.id, late.id]
    assert [each.id for each in attempts_in(ledger, late.time)] == [late.id]
