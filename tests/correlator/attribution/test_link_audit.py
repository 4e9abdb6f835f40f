"""What the audit log adds to a link: the impersonator, whether it was stored, and bypasses."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from correlator.attribution.context import Act, AuditedWrite, Drifted, Knowledge, Way, Witness
from correlator.attribution.link import Confidence, Link, State, link
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Ref
from glasswarden.ledger.record import Attempt
from tests.correlator.attribution.builders import at, drifted, held_by
from tests.correlator.attribution.builders import wrote as recorded
from tests.correlator.attribution.test_audit import wrote

REPLICAS = "/spec/replicas"
BEFORE = wrote(1, 3)


def linked(
    field: Drifted,
    *writes: AuditedWrite,
    attempts: tuple[Attempt, ...] = (),
    witnesses: Mapping[str, Witness] = MappingProxyType({}),
) -> Link:
    known = Knowledge(records_since=at(-60), witnesses=witnesses, written=lambda _: writes)
    return link(field, attempts, known)


def test_bypassing_actor_is_named_and_the_field_stays_unexplained() -> None:
    found = linked(drifted(REPLICAS, 8), wrote(2, 8), BEFORE)
    assert (found.state, found.actor, found.source) == (State.UNEXPLAINED, "lead", "10.0.0.7")
    assert found.why.startswith("bypassed by the emergency group at ")
    assert (found.time, found.confidence) == (at(2), Confidence.NONE)
    assert found.evidence[0] == "audit event audit-2 shows the write"


def test_impersonator_of_a_bypassing_write_is_named() -> None:
    found = linked(drifted(REPLICAS, 8), wrote(2, 8, user="outsider"), BEFORE)
    assert (found.actor, found.impersonator) == ("lead", "outsider")


def test_unproven_bypass_names_no_actor() -> None:
    silent = wrote(2, 8, sent={"metadata": {}})
    found = linked(drifted(REPLICAS, 8), silent, BEFORE)
    assert (found.actor, found.impersonator, found.source) == ("", "", "")
    assert "lead" not in found.why


def test_explaining_record_takes_precedence_over_the_audit_log() -> None:
    attempt = recorded(3, REPLICAS, new=8)
    found = linked(drifted(REPLICAS, 8), wrote(2, 8), BEFORE, attempts=(attempt,))
    assert (found.state, found.actor) == (State.EXPLAINED, "responder")


def test_later_bypass_to_the_same_value_takes_precedence_over_the_record() -> None:
    """The emergency group scaled to another value and back: only the log knows."""
    attempt = recorded(2, REPLICAS, old=3, new=8, manager="", subresource="scale")
    mine = wrote(2, 8, way=Way.RECORDED, records=(attempt.id,))
    away, back = wrote(3, 10), wrote(4, 8)
    found = linked(drifted(REPLICAS, 8), back, away, mine, BEFORE, attempts=(attempt,))
    assert (found.state, found.actor, found.records) == (State.UNEXPLAINED, "lead", ())
    assert found.why.startswith("bypassed by the emergency group at ")


def test_possible_later_bypass_leaves_no_actor() -> None:
    attempt = recorded(2, REPLICAS, old=3, new=8)
    mine = wrote(2, 8, way=Way.RECORDED, records=(attempt.id,))
    away, back = wrote(3, 10), wrote(4, 8, sent={"metadata": {}})
    found = linked(drifted(REPLICAS, 8), back, away, mine, BEFORE, attempts=(attempt,))
    assert (found.state, found.actor) == (State.UNEXPLAINED, "")
    assert found.why.startswith("perhaps bypassed by the emergency group at ")


@pytest.mark.parametrize(
    ("way", "state"),
    [(Way.EMERGENCY, State.UNEXPLAINED), (Way.TRUSTED, State.DELEGATED)],
)
def test_delegated_field_set_by_a_bypass_is_unexplained(way: Way, state: State) -> None:
    field = drifted(REPLICAS, 8, delegate="horizontal-pod-autoscaler")
    assert linked(field, wrote(2, 8, way=way), BEFORE).state is state


@pytest.mark.parametrize(
    ("stored", "confidence", "state"),
    [
        (True, Confidence.CERTAIN, State.EXPLAINED),
        (None, Confidence.LIKELY, State.EXPLAINED),
        (False, Confidence.NONE, State.UNEXPLAINED),
    ],
)
def test_outcome_in_the_audit_log_decides_the_confidence(
    stored: bool | None,  # noqa: FBT001 - a case of the table
    confidence: Confidence,
    state: State,
) -> None:
    """An event without an outcome speaks neither for the record nor against it."""
    attempt = recorded(1, REPLICAS, new=8)
    witnesses = {attempt.id: Witness("responder", stored, "10.0.0.7")}
    found = linked(drifted(REPLICAS, 8), attempts=(attempt,), witnesses=witnesses)
    assert (found.state, found.confidence) == (state, confidence)


LABEL = "/metadata/labels/team"
REMOVAL = recorded(2, LABEL, old="shop", manager="kubectl-label")
REMOVED = wrote(2, way=Way.RECORDED, records=(REMOVAL.id,), sent=ABSENT, after=None)
"""As a log of level Metadata has it: by whom, and not what."""
FLUX = held_by("kustomize-controller", 1, "Apply")


@pytest.mark.parametrize(
    ("since", "who"),
    [
        pytest.param((), "responder", id="no later write"),
        pytest.param((Way.RECORDED,), "responder", id="a recorded write"),
        pytest.param((Way.TRUSTED,), "responder", id="an apply of the owner"),
        pytest.param((Way.EMERGENCY,), "", id="a write of the emergency group"),
        pytest.param((Way.RECORDED, Way.FAILED_OPEN), "", id="an older write that failed open"),
    ],
)
def test_removal_is_explained_only_without_later_unrecorded_writes(
    since: tuple[Way, ...], who: str
) -> None:
    field = drifted(LABEL, ABSENT, entries=(FLUX,))
    manager = {Way.TRUSTED: "kustomize-controller"}
    later = [
        wrote(9 - n, way=way, manager=manager.get(way, "kubectl"), sent=ABSENT, after=None)
        for n, way in enumerate(since)
    ]
    assert linked(field, attempts=(REMOVAL,)).actor == ""
    assert linked(field, *later, REMOVED, attempts=(REMOVAL,)).actor == who
    assert linked(field, *later, attempts=(REMOVAL,)).actor == "", "the log begins too late"


def test_later_trusted_write_without_managed_fields_leaves_a_removal_unexplained() -> None:
    later = wrote(5, way=Way.TRUSTED, manager="tidier", sent=ABSENT, after=None)
    found = linked(drifted(LABEL, ABSENT, entries=(FLUX,)), later, REMOVED, attempts=(REMOVAL,))
    assert found.state is State.UNEXPLAINED


def test_deletion_is_explained_only_with_the_audit_log() -> None:
    gone = drifted("/", ABSENT, ref=Ref("apps", "v1", "Deployment", "shop", "web"))
    deletion = recorded(2, "/", operation="DELETE", changes=())
    seen = wrote(2, act=Act.DELETE, way=Way.RECORDED, records=(deletion.id,))
    again, made = wrote(4, act=Act.DELETE), wrote(3, act=Act.CREATE, way=Way.TRUSTED)
    assert linked(gone, attempts=(deletion,)).actor == ""
    assert linked(gone, seen, attempts=(deletion,)).actor == "responder"
    assert linked(gone, again, made, seen, attempts=(deletion,)).actor == "lead"


def test_audit_log_without_later_changes_confirms_a_doubted_record() -> None:
    """The same manager wrote again, past the webhook: managedFields alone cannot tell what."""
    field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", 5),))
    attempt = recorded(2, REPLICAS, old=3, new=8, manager="kubectl-edit")
    write = wrote(2, 8, way=Way.RECORDED, records=(attempt.id,))
    later = wrote(5, 8, sent={"metadata": {"labels": {"a": "b"}}})
    doubted = linked(field, attempts=(attempt,))
    assert (doubted.state, doubted.actor) == (State.UNEXPLAINED, "")
    cleared = linked(field, later, write, BEFORE, attempts=(attempt,))
    assert (cleared.state, cleared.actor) == (State.EXPLAINED, "responder")
    other = wrote(2, 8, way=Way.RECORDED, records=("another",))
    assert linked(field, later, other, BEFORE, attempts=(attempt,)).state is State.UNEXPLAINED
