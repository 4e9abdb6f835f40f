"""Whether a change is still live, in Git, or not known."""

from typing import Any

import pytest

from correlator.still_live import Answer, FieldState, LiveCheck, NotKnown, writes_in
from glasswarden.kube.objects import Object, Ref
from tests.correlator.attribution.builders import UID, wrote


def an_object(replicas: int | None, uid: str = UID) -> Object:
    spec: dict[str, Any] = {} if replicas is None else {"replicas": replicas}
    metadata = {"name": "web", "namespace": "shop", "uid": uid}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def out_of_reach(_ref: Ref) -> Object | None:
    raise NotKnown


@pytest.mark.parametrize(
    ("live", "answer"),
    [
        pytest.param(an_object(8), Answer.YES, id="still live"),
        pytest.param(an_object(3), Answer.NO, id="put back"),
        pytest.param(an_object(None), Answer.NO, id="removed"),
        pytest.param(None, Answer.NO, id="the object is deleted"),
        pytest.param(an_object(8, "another"), Answer.NO, id="another object of that name"),
    ],
)
def test_change_is_compared_with_the_live_object(live: Object | None, answer: Answer) -> None:
    attempt = wrote(1, "/spec/replicas", old=3, new=8)
    assert LiveCheck(lambda _ref: live)(attempt, attempt.changes[0]) == FieldState(answer)


def test_answer_for_an_unreadable_object_is_unknown() -> None:
    attempt = wrote(1, "/spec/replicas", old=3, new=8)
    assert LiveCheck(out_of_reach)(attempt, attempt.changes[0]) == FieldState()


def test_change_is_compared_with_the_declared_object_without_a_uid() -> None:
    attempt = wrote(1, "/spec/replicas", old=3, new=8)
    looked = LiveCheck(lambda _ref: an_object(8), declared=lambda _ref: an_object(8, uid=""))
    assert looked(attempt, attempt.changes[0]) == FieldState(Answer.YES, Answer.YES)


def test_answer_for_an_incomparable_value_is_unknown() -> None:
    attempt = wrote(1, "/spec/replicas", new_masked="gone:00")
    assert LiveCheck(lambda _ref: an_object(8))(attempt, attempt.changes[0]) == FieldState()


LEAVING = an_object(8) | {"metadata": {"name": "web", "deletionTimestamp": "now"}}


@pytest.mark.parametrize(
    ("operation", "there", "answer"),
    [
        ("DELETE", None, Answer.YES),
        ("DELETE", LEAVING, Answer.YES),
        ("DELETE", an_object(8, "another"), Answer.NO),
        ("CREATE", an_object(8), Answer.YES),
        ("CREATE", None, Answer.NO),
    ],
)
def test_creation_and_deletion_are_compared_with_the_existence_of_the_object(
    operation: str, there: Object | None, answer: Answer
) -> None:
    attempt = wrote(1, "/", operation=operation, changes=())
    [change] = writes_in(attempt)
    looked = LiveCheck(lambda _ref: there, declared=lambda _ref: there)
    assert looked(attempt, change) == FieldState(answer, answer)
    assert LiveCheck(out_of_reach)(attempt, change) == FieldState()
