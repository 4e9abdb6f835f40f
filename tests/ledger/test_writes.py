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


def test_tries_that_are_alike_and_close_are_one_write() -> None:
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
def test_what_differs_is_another_write(differing: dict[str, str]) -> None:
    assert len(writes_of([a_try(0), a_try(1, **differing)])) == 2


def test_objects_that_are_created_have_no_uid_and_are_told_apart_by_name() -> None:
    created = [a_try(0, object_uid="", name="api"), a_try(0.1, object_uid="", name="web")]
    assert len(writes_of(created)) == 2


def test_another_s_write_between_is_why_it_was_tried_again() -> None:
    first, other, again = a_try(0), a_try(1, fingerprint="f2"), a_try(2)
    assert writes_of([first, other, again]) == [(first, again), (other,)]


def test_what_comes_later_than_any_retry_is_another_write() -> None:
    later = RETRY_WINDOW.total_seconds() + 0.001
    assert len(writes_of([a_try(0), a_try(later)])) == 2


def test_each_try_is_measured_from_the_one_before() -> None:
    step = RETRY_WINDOW.total_seconds()
    assert len(writes_of([a_try(0), a_try(step), a_try(2 * step)])) == 1


def test_without_a_fingerprint_nothing_is_taken_for_a_retry() -> None:
    assert len(writes_of([a_try(0, fingerprint=""), a_try(1, fingerprint="")])) == 2


def test_only_attempts_are_read_from_a_ledger_and_from_a_time_on(ledger: Ledger) -> None:
    early, late = a_try(0), a_try(10)
    ledger.append(records_of(an_opening(), early, late))
    assert [each.id for each in attempts_in(ledger)] == [early.id, late.id]
    assert [each.id for each in attempts_in(ledger, late.time)] == [late.id]
