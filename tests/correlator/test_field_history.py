"""The chain of writes to a field: who came after whom, and what nobody recorded."""

from typing import Any

import pytest

from correlator.attribution.context import Knowledge, Witness
from correlator.audit.observed_write import ObservationKind, ObservedWrite
from correlator.field_history import Step, WriteOutcome, chain_of
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.record import Attempt
from tests.correlator.attribution.builders import UID, at, wrote
from tests.kube.builders import a_deployment, an_entry, managed_by

REPLICAS = "/spec/replicas"
RESPONDER = wrote(1, REPLICAS, old=5, new=8, ticket="INC-42")
DENIED = wrote(3, REPLICAS, old=5, new=7, verdict="deny", actor="developer")


def a_live(replicas: int, manager: str = "kustomize-controller", uid: str = UID) -> Object:
    entry = an_entry(manager, REPLICAS, operation="Apply", time="2026-03-01T12:02:00Z")
    live = managed_by(a_deployment(replicas=replicas), entry)
    live["metadata"] |= {"namespace": "shop", "uid": uid}
    return live


def chain(*attempts: Attempt, live: Object | None = None, **known: Any) -> list[Step]:  # noqa: ANN401
    return chain_of(attempts, live, Knowledge(**known))


def told(steps: list[Step]) -> list[tuple[str, str, object, object]]:
    return [(str(s.fate), s.actor or s.manager, s.before.value, s.after.value) for s in steps]


def test_history_has_hotfix_revert_and_denial() -> None:
    again = wrote(4, REPLICAS, old=8, new=9, actor="lead")
    back = wrote(2, REPLICAS, old=8, new=8)
    assert told(chain(RESPONDER, back, DENIED, again, live=a_live(9))) == [
        ("stored", "responder", 5, 8),
        ("attempted", "responder", 8, 8),
        ("unrecorded", "", 8, 5),
        ("denied", "developer", 5, 7),
        ("unrecorded", "", 5, 8),
        ("stored", "lead", 8, 9),
    ]


def test_write_of_the_live_value_is_stored() -> None:
    [step] = chain(RESPONDER, live=a_live(8))
    assert (step.fate, step.evidence) == (WriteOutcome.STORED, "the live object has its value")


def test_write_without_evidence_is_attempted() -> None:
    assert [step.fate for step in chain(RESPONDER)] == [WriteOutcome.ATTEMPTED]


@pytest.mark.parametrize(
    ("stored", "fate"), [(True, WriteOutcome.STORED), (False, WriteOutcome.REFUSED)]
)
def test_outcome_of_a_write_is_taken_from_the_audit_log(stored: bool, fate: WriteOutcome) -> None:  # noqa: FBT001
    witness = Witness("responder", stored)
    assert [s.fate for s in chain(RESPONDER, witnesses={RESPONDER.id: witness})] == [fate]


def test_unrecorded_revert_has_the_manager_of_the_live_field() -> None:
    first, second = chain(RESPONDER, live=a_live(5))
    assert first.fate is WriteOutcome.ATTEMPTED
    assert (second.fate, second.manager, second.time) == (
        WriteOutcome.UNRECORDED, "kustomize-controller", at(2),
    )  # fmt: skip
    assert "put back, or never changed" in second.evidence


def test_tries_of_one_write_are_one_step() -> None:
    tries = [wrote(1 + n / 60, REPLICAS, old=5, new=8, fingerprint="f") for n in range(3)]
    [step] = chain(*tries)
    assert step.records == tuple(each.id for each in tries)


def test_each_field_has_its_own_history() -> None:
    paused = wrote(2, "/spec/paused", new=True, actor="lead")
    assert told(chain(RESPONDER, paused, wrote(3, REPLICAS, old=8, new=9))) == [
        ("stored", "responder", 5, 8),
        ("attempted", "lead", ABSENT, True),
        ("attempted", "responder", 8, 9),
    ]


def test_objects_with_the_same_name_have_separate_histories() -> None:
    later = wrote(2, REPLICAS, old=5, new=6, object_uid="second")
    steps = chain(RESPONDER, later, live=a_live(6, uid="second"))
    assert [(step.uid, step.fate) for step in steps] == [
        (UID, WriteOutcome.ATTEMPTED), ("second", WriteOutcome.STORED),
    ]  # fmt: skip


def test_write_to_a_parent_field_implies_no_unrecorded_step() -> None:
    whole = wrote(2, "/spec", old={"replicas": 8}, new={"replicas": 3})
    steps = chain(RESPONDER, whole, wrote(3, REPLICAS, old=3, new=4))
    assert [step.fate for step in steps] == [WriteOutcome.ATTEMPTED] * 3


def test_hidden_values_are_compared_by_their_masks_and_not_printed() -> None:
    path = "/data/password"
    first, other = wrote(1, path, new_masked="k:aa"), wrote(2, path, old_masked="k:bb")
    assert [step.fate for step in chain(first, other)] == [
        WriteOutcome.ATTEMPTED, WriteOutcome.UNRECORDED, WriteOutcome.ATTEMPTED,
    ]  # fmt: skip
    kept = wrote(2, path, old_masked="k:aa")
    assert [step.fate for step in chain(first, kept)] == [
        WriteOutcome.STORED,
        WriteOutcome.ATTEMPTED,
    ]
    rotated = wrote(2, path, old_masked="other:aa")
    assert [step.fate for step in chain(first, rotated)] == [
        WriteOutcome.ATTEMPTED,
        WriteOutcome.ATTEMPTED,
    ]


def test_deletion_is_a_step_of_the_whole_object() -> None:
    [step] = chain(wrote(1, REPLICAS, operation="DELETE", changes=()))
    assert (step.path, step.operation) == ("/", "DELETE")


def test_write_that_bypassed_the_webhook_is_a_step_in_order_of_time() -> None:
    ref = Ref("apps", "v1", "Deployment", "shop", "web", UID)
    past = ObservedWrite(
        ObservationKind.EMERGENCY, at(2), ref, "patched it", "lead", "outsider", "", "", "a1"
    )
    steps = chain_of([RESPONDER, DENIED], None, Knowledge(), past=[past])
    named = [(str(step.fate), step.actor) for step in steps]
    assert ("unrecorded", "outsider as lead") in named
    step = next(step for step in steps if step.did)
    assert (step.path, step.did, step.time) == ("/", "patched it", at(2))
    assert step.evidence == "the audit log shows it, without a record (emergency)"
    assert named.index(("unrecorded", "outsider as lead")) < named.index(("denied", "developer"))
