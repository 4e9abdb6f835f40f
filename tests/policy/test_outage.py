"""Writes that cannot be recorded: what the policy decides about them."""

import pytest

from glasswarden.policy.decide import without_record
from glasswarden.policy.decision import Clause, Decision, Verdict
from glasswarden.policy.document import EMPTY, Document, Outage, WithoutRecord
from glasswarden.policy.policy import DEFAULT, policy_of
from glasswarden.policy.types import Mode
from tests.policy.builders import a_write

ALLOW, REFUSE = WithoutRecord.ALLOW, WithoutRecord.REFUSE


def a_decision(clause: Clause = Clause.GUARD, mode: Mode | None = None) -> Decision:
    return Decision(Verdict.ALLOW, clause, mode, warnings=("is recorded",))


def document(outage: Outage, mode: Mode = Mode.ENFORCE) -> Document:
    return Document(api_version=EMPTY.api_version, kind=EMPTY.kind, mode=mode, outage=outage)


@pytest.mark.parametrize(
    ("mode", "allowed"),
    [(Mode.ENFORCE, False), (Mode.WARN, True), (Mode.AUDIT, True)],
)
def test_unrecorded_write_is_denied_by_default_in_enforce_only(mode: Mode, allowed: bool) -> None:  # noqa: FBT001
    assert without_record(a_decision(mode=mode), a_write(), DEFAULT).allowed is allowed


@pytest.mark.parametrize("mode", Mode)
def test_policy_decides_unrecorded_writes_per_mode(mode: Mode) -> None:
    others = {each: ALLOW for each in Mode if each is not mode}
    policy = policy_of(document(Outage(**{mode: REFUSE}, **others)))
    for each in Mode:
        outcome = without_record(a_decision(mode=each), a_write(), policy)
        assert outcome.allowed is (each is not mode)


def test_unrecorded_benign_write_follows_the_mode_of_its_object() -> None:
    benign = a_decision(Clause.BENIGN)
    assert not without_record(benign, a_write(), DEFAULT).allowed
    watched = policy_of(document(Outage(), mode=Mode.AUDIT))
    assert without_record(benign, a_write(), watched) == benign


def test_denial_is_unchanged_without_a_record() -> None:
    denied = Decision(Verdict.DENY, Clause.GUARD, Mode.ENFORCE, "is managed by Flux")
    lenient = policy_of(document(Outage(enforce=ALLOW)))
    assert without_record(denied, a_write(), lenient) == denied


def test_emergency_group_is_allowed_without_a_record() -> None:
    emergency = a_decision(Clause.EMERGENCY)
    strict = policy_of(document(Outage(enforce=REFUSE, warn=REFUSE, audit=REFUSE)))
    assert without_record(emergency, a_write(), strict) == emergency


def test_denial_without_a_record_names_the_reason() -> None:
    outcome = without_record(a_decision(mode=Mode.ENFORCE), a_write(), DEFAULT)
    assert outcome.unavailable
    assert "cannot be recorded now" in outcome.message
    assert "out of reach" in outcome.message
    assert outcome.warnings == ()
