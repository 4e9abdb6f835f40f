"""What is published about a write."""

from dataclasses import replace

import pytest

from glasswarden.kube.objects import Ref
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import Glass, notes_of
from glasswarden.policy.breakglass.tokens import Act, GrantUse
from glasswarden.policy.decision import Clause, Decision, Verdict
from glasswarden.policy.messages import render_event
from glasswarden.policy.types import Actor, Operation
from glasswarden.policy.write import Write
from tests.policy.breakglass.builders import RING
from tests.policy.builders import NOW, a_case, a_change, a_policy, a_write, decided

USE = GrantUse("5kq2", Act.USED, "responder", "responders", "INC-42", "checkout is down", NOW)
RESPONDER = Actor("responder")
NAMESPACE = Ref("", "v1", "Namespace", "", "shop", "ns-1")
SECRET = Ref("", "v1", "Secret", "shop", "db", "77aa")


def told(write: Write, use: GrantUse) -> tuple[str, str, str]:
    event = render_event(Decision(Verdict.ALLOW, Clause.BREAKGLASS, grant=use), a_case(write))
    assert event is not None
    assert not event.warning
    return event.reason, event.action, event.note


@pytest.mark.parametrize(
    ("use", "reason", "note"),
    [
        (
            replace(USE, act=Act.ISSUED),
            "BreakGlassGranted",
            (
                "responder may write to it until 2026-03-01 12:00:00 UTC, for INC-42: checkout is"
                " down. Changed in the same write: /spec/replicas."
            ),
        ),
        (
            replace(USE, act=Act.APPROVED, approver="lead"),
            "BreakGlassApproved",
            (
                "responder may write to it until 2026-03-01 12:00:00 UTC, approved by lead,"
                " for INC-42: checkout is down."
            ),
        ),
        (
            replace(USE, act=Act.REQUESTED),
            "BreakGlassRequested",
            (
                "responder asks to write to it, for INC-42: checkout is down."
                " Somebody else can approve it until 2026-03-01 12:00:00 UTC."
            ),
        ),
        (USE, "BreakGlassUsed", "responder changed /spec/replicas under the grant for INC-42."),
        (
            replace(USE, actor="lead", namespaced=True),
            "BreakGlassUsed",
            "responder changed /spec/replicas under lead's grant for INC-42 on the Namespace.",
        ),
        (
            replace(USE, act=Act.CLOSED, outcome="reverted"),
            "BreakGlassClosed",
            "responder ended the grant for INC-42. Outcome: reverted.",
        ),
        (
            replace(USE, act=Act.CLOSED, expires=None),
            "BreakGlassClosed",
            "responder ended the request for INC-42.",
        ),
    ],
    ids=["issued", "approved", "requested", "used", "used, another's", "closed", "withdrawn"],
)
def test_event_of_a_grant_follows_its_act(use: GrantUse, reason: str, note: str) -> None:
    assert told(a_write(actor=RESPONDER), use) == (reason, "Update", note)


def test_action_of_an_event_is_scale_or_delete() -> None:
    assert told(a_write(subresource="scale"), USE)[1] == "Scale"
    write = a_write(actor=RESPONDER, operation=Operation.DELETE, changes=())
    assert told(write, USE)[1:] == ("Delete", "responder deleted it under the grant for INC-42.")


def test_event_of_a_namespace_grant_names_all_in_it() -> None:
    write = a_write(target=NAMESPACE, changes=())
    assert "may write to all in it until" in told(write, replace(USE, act=Act.ISSUED))[2]


def test_event_counts_fields_beyond_the_first_ones() -> None:
    changes = tuple(a_change(f"/spec/f{index}", 1, 2) for index in range(60))
    note = told(a_write(actor=RESPONDER, changes=changes), USE)[2]
    assert "/spec/f5 and 54 more under the grant" in note


def test_event_of_a_denial_names_actor_fields_and_reason() -> None:
    event = render_event(decided(a_write()), a_case(a_write()))
    assert event is not None
    assert (event.reason, event.action, event.warning) == ("WriteRefused", "Update", True)
    assert event.note == (
        "developer was refused to change /spec/replicas: Deployment shop/web is managed by"
        " Flux Kustomization flux-system/shop."
    )


def test_event_of_a_denied_request_names_the_rule() -> None:
    policy = a_policy("breakGlass: {rules: [{name: all, users: [developer], ticket: INC-.*}]}")
    asked = {names.REASON: "checkout is down", names.TICKET: "none"}
    notes = notes_of({"metadata": {"annotations": asked}}, RING)
    write = a_write(changes=(), glass=Glass(after=notes))
    event = render_event(decided(write, policy), a_case(write, policy))
    assert event is not None
    assert event.reason == "BreakGlassRefused"
    assert event.note == (
        "developer asked and was refused: by rule 'all', the ticket 'none' does not match INC-.*."
    )


@pytest.mark.parametrize("target", [a_write().target, SECRET], ids=["a Deployment", "a Secret"])
def test_events_contain_no_values(target: Ref) -> None:
    write = a_write(target=target, changes=(a_change("/data/password", "before", "hunter2"),))
    refused = render_event(decided(write), a_case(write))
    assert refused is not None
    for note in (refused.note, told(write, USE)[2]):
        assert "/data/password" in note
        assert "hunter2" not in note
        assert "before" not in note


@pytest.mark.parametrize(
    "write",
    [a_write(dry_run=True), a_write(target=replace(a_write().target, name=""))],
    ids=["a dry run", "an object without a name yet"],
)
def test_dry_run_and_unnamed_object_have_no_event(write: Write) -> None:
    case = a_case(write)
    used = Decision(Verdict.ALLOW, Clause.BREAKGLASS, grant=USE)
    assert render_event(used, case) is None
    assert render_event(Decision(Verdict.DENY, Clause.GUARD), case) is None


def test_benign_write_has_no_event() -> None:
    assert render_event(Decision(Verdict.ALLOW, Clause.BENIGN), a_case(a_write())) is None
