"""Writes that cannot be recorded: what the policy decides about them."""

import pytest

from glasswarden.policy.decide import decide_unrecorded
from glasswarden.policy.decision import Clause, Decision, Denial, Verdict
from glasswarden.policy.document import EMPTY, Document, Outage, WithoutRecord
from glasswarden.policy.messages import render_denial, render_warnings
from glasswarden.policy.policy import DEFAULT, policy_of
from glasswarden.policy.types import Mode
from tests.policy.builders import a_case, a_write

ALLOW, REFUSE = WithoutRecord.ALLOW, WithoutRecord.REFUSE


def a_decision(clause: Clause = Clause.GUARD, mode: Mode | None = None) -> Decision:
    return Decision(Verdict.ALLOW, clause, mode, Denial() if clause is Clause.GUARD else None)


def document(outage: Outage, mode: Mode = Mode.ENFORCE) -> Document:
    return Document(api_version=EMPTY.api_version, kind=EMPTY.kind, mode=mode, outage=outage)


@pytest.mark.parametrize(
    ("mode", "allowed"),
    [(Mode.ENFORCE, False), (Mode.WARN, True), (Mode.AUDIT, True)],
)
def test_unrecorded_write_is_denied_by_default_in_enforce_only(mode: Mode, allowed: bool) -> None:  # noqa: FBT001
    assert decide_unrecorded(a_decision(mode=mode), a_case(a_write(), DEFAULT)).allowed is allowed


@pytest.mark.parametrize("mode", Mode)
def test_policy_decides_unrecorded_writes_per_mode(mode: Mode) -> None:
    others = {each: ALLOW for each in Mode if each is not mode}
    policy = policy_of(document(Outage(**{mode: REFUSE}, **others)))
    for each in Mode:
        outcome = decide_unrecorded(a_decision(mode=each), a_case(a_write(), policy))
        assert outcome.allowed is (each is not mode)


def test_unrecorded_benign_write_follows_the_mode_of_its_object() -> None:
    benign = a_decision(Clause.BENIGN)
    assert not decide_unrecorded(benign, a_case(a_write(), DEFAULT)).allowed
    watched = policy_of(document(Outage(), mode=Mode.AUDIT))
    assert decide_unrecorded(benign, a_case(a_write(), watched)) == benign


def test_denial_is_unchanged_without_a_record() -> None:
    denied = Decision(Verdict.DENY, Clause.GUARD, Mode.ENFORCE, Denial())
    lenient = policy_of(document(Outage(enforce=ALLOW)))
    assert decide_unrecorded(denied, a_case(a_write(), lenient)) == denied


def test_emergency_group_is_allowed_without_a_record() -> None:
    emergency = a_decision(Clause.EMERGENCY)
    strict = policy_of(document(Outage(enforce=REFUSE, warn=REFUSE, audit=REFUSE)))
    assert decide_unrecorded(emergency, a_case(a_write(), strict)) == emergency


def test_denial_without_a_record_names_the_reason() -> None:
    outcome = decide_unrecorded(a_decision(mode=Mode.ENFORCE), a_case(a_write(), DEFAULT))
    assert outcome.unavailable
    message = render_denial(outcome, a_case(a_write()))
    assert "cannot be recorded now" in message
    assert "out of reach" in message
    assert render_warnings(outcome, a_case(a_write())) == ()
