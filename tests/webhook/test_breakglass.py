"""Break-glass on a model of the API server: what people write, and the result.

tests/cluster/test_breakglass.py has the same people on the real one.
"""

import json
from datetime import timedelta
from typing import Any

import pytest

from glasswarden.keys.ring import Key, Ring
from glasswarden.kube.hold import LAST_APPLIED
from glasswarden.policy.breakglass.annotations import OpenGrants
from glasswarden.policy.breakglass.tokens import Act, issue_stamp
from glasswarden.policy.decision import Clause
from glasswarden.policy.types import Actor
from tests.policy.breakglass.builders import (
    KEY,
    LEAD,
    OUTSIDER,
    RESPONDER,
    RING,
    SECOND,
    a_stamp,
)
from tests.policy.builders import DEVELOPER, FLUX_CONTROLLER, NOW, Answered, a_policy
from tests.webhook.model import Server, a_server

POLICY = """
breakGlass:
  rules:
    - name: responders
      groups: [responders]
      namespaces: [shop]
      ticket: INC-[0-9]+
      ttl: {default: 30m, longest: 4h}
      closed: [/spec/serviceAccountName]
      mostOpen: {person: 2, namespace: 3}
    - name: developers
      groups: [developers]
      ticket: (INC|CHG)-[0-9]+
      ttl: {default: 30m, longest: 1h}
      approval: {groups: [leads], within: 15m}
"""

ASK: dict[str, str | None] = {
    "reason": "checkout is down for everybody",
    "ticket": "INC-42",
    "ttl": "1h",
}
ASK_CHANGE = {**ASK, "ticket": "CHG-7"}
MORE = {"replicas": 5}
KUSTOMIZE = "kustomize-controller"


@pytest.fixture
def server() -> Server:
    return a_server(a_policy(POLICY))


def granted(decision: Answered) -> Act | None:
    """Return what the write did with a grant, if it was allowed by one."""
    assert decision.allowed, decision.message
    assert decision.clause is Clause.BREAKGLASS
    return decision.grant.act if decision.grant else None


def refused(decision: Answered) -> str:
    assert not decision.allowed
    return decision.message


class TestRequesting:
    def test_request_in_the_same_write_as_the_change_is_granted(self, server: Server) -> None:
        decision = server.update(RESPONDER, texts=ASK, spec=MORE)
        assert granted(decision) is Act.ISSUED
        use = decision.grant
        assert use is not None
        assert (use.actor, use.ticket, use.reason, use.rule) == (
            "responder", "INC-42", "checkout is down for everybody", "responders",
        )  # fmt: skip
        assert use.expires == NOW + timedelta(hours=1)
        live = server.live()
        assert live is not None
        assert live.held == ("/spec/replicas",)

    def test_request_before_the_change_is_granted(self, server: Server) -> None:
        assert granted(server.annotate(RESPONDER, ASK)) is Act.ISSUED
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED
        assert granted(server.update(RESPONDER, spec={"paused": True})) is Act.USED
        live = server.live()
        assert live is not None
        assert live.held == ("/spec/paused", "/spec/replicas")

    def test_request_without_a_ttl_gets_the_default_of_the_rule(self, server: Server) -> None:
        decision = server.annotate(RESPONDER, {**ASK, "ttl": None})
        assert decision.grant is not None
        assert decision.grant.expires == NOW + timedelta(minutes=30)

    def test_requester_is_warned_with_the_end_of_the_grant(self, server: Server) -> None:
        decision = server.annotate(RESPONDER, ASK)
        assert decision.grant is not None
        assert decision.warnings == (
            (
                "responder may write to Deployment shop/web until 2026-03-01 13:00:00 UTC "
                f"(INC-42, grant {decision.grant.id})."
            ),
        )

    def test_control_characters_are_escaped_in_the_warning(self) -> None:
        server = a_server(a_policy("breakGlass: {rules: [{name: a, users: ['*']}]}"))
        [told] = server.annotate(RESPONDER, ASK, ticket="\x1b[2J").warnings
        assert told.isprintable()

    def test_request_changes_no_other_annotation(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        assert server.objects["web"]["metadata"]["annotations"]["example.com/team"] == "shop"

    def test_request_on_an_unmanaged_object_is_ignored(self, server: Server) -> None:
        server.objects["web"]["metadata"]["labels"] = {}
        decision = server.annotate(OUTSIDER, ASK)
        assert (decision.clause, server.live()) == (Clause.UNMANAGED, None)

    def test_stamp_of_a_dry_run_is_rejected_in_a_real_write(self, server: Server) -> None:
        assert granted(server.update(RESPONDER, texts=ASK, spec=MORE, dry_run=True)) is Act.ISSUED
        [token] = server.seen
        assert server.live() is None
        server.up = False
        message = refused(server.annotate(RESPONDER, ASK, grant=token))
        assert "it was issued for another write" in message

    def test_reinvoked_mutation_gives_the_same_stamp(self, server: Server) -> None:
        """Another mutating webhook may change something after ours: then ours is called again."""
        server.update(RESPONDER, texts=ASK, spec=MORE)
        first = server.live()
        again = a_server(server.policy)
        again.calls = 2
        again.update(RESPONDER, texts=ASK, spec=MORE)
        second = again.live()
        assert first is not None
        assert second is not None
        assert (first.held, first.expires) == (second.held, second.expires)


REFUSALS = {
    "a short reason": ({**ASK, "reason": "broken"}, "a reason has at least 10 characters"),
    "no ticket": ({**ASK, "ticket": None}, "a ticket is needed"),
    "another ticket": ({**ASK, "ticket": "INC-42b"}, "'INC-42b' does not match INC-[0-9]+"),
    "a long ticket": ({**ASK, "ticket": f"INC-{'1' * 100}"}, "at most 100 characters"),
    "a long reason": ({**ASK, "reason": "x" * 1001}, "at most 1000 characters"),
    "too long": ({**ASK, "ttl": "5h"}, "a grant lives at most 4h, extensions included"),
    "no time": ({**ASK, "ttl": "soon"}, "'soon' is not a duration such as 30m"),
    "no time at all": ({**ASK, "ttl": "0m"}, "'0m' is not a duration"),
}


class TestDenials:
    @pytest.mark.parametrize(("texts", "why"), REFUSALS.values(), ids=REFUSALS)
    def test_denial_names_the_rule_and_what_it_requires(
        self, server: Server, texts: dict[str, str | None], why: str
    ) -> None:
        message = refused(server.annotate(RESPONDER, texts))
        assert "Break-glass: by rule 'responders', " in message
        assert why in message
        assert server.annotations() == {}

    def test_requester_without_a_rule_is_denied(self, server: Server) -> None:
        message = refused(server.annotate(OUTSIDER, ASK))
        assert "no rule lets outsider break the glass here" in message
        assert "Who may break the glass here: group responders, group developers." in message

    def test_closed_field_is_denied_at_request_and_use(self, server: Server) -> None:
        changed = {"serviceAccountName": "root"}
        same = refused(server.update(RESPONDER, texts=ASK, spec=changed))
        assert "/spec/serviceAccountName stays closed even under a grant" in same
        server.annotate(RESPONDER, ASK)
        later = refused(server.update(RESPONDER, spec=changed))
        assert "by rule 'responders', /spec/serviceAccountName stays closed" in later
        assert "To break the glass" not in later  # they have

    def test_request_beyond_the_limit_of_open_grants_is_denied(self, server: Server) -> None:
        server.open = OpenGrants(person=2)
        assert "at most 2 grants open at once" in refused(server.annotate(RESPONDER, ASK))
        server.open = OpenGrants(namespace=3)
        assert "a namespace has at most 3" in refused(server.annotate(RESPONDER, ASK))

    def test_change_of_ownership_marks_is_denied_with_a_request(self, server: Server) -> None:
        labels = {"kustomize.toolkit.fluxcd.io/name": None}
        decision = server.update(RESPONDER, texts=ASK, labels=labels)
        assert (decision.allowed, decision.clause) == (False, Clause.MARKS)

    def test_request_without_the_mutating_webhook_is_denied(self, server: Server) -> None:
        server.up = False
        message = refused(server.update(RESPONDER, texts=ASK, spec=MORE))
        assert "the request was not stamped" in message

    def test_request_without_breakglass_rules_is_denied(self) -> None:
        server = a_server(a_policy())
        message = refused(server.update(RESPONDER, texts=ASK, spec=MORE))
        assert "Nobody may break the glass here: the policy has no rule for it." in message


class TestUsing:
    def test_grant_covers_its_holder_only(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        assert "the grant for INC-42 is responder's" in refused(server.update(SECOND, spec=MORE))

    def test_shared_grant_covers_the_group(self) -> None:
        server = a_server(a_policy(POLICY.replace("closed:", "shared: true\n      closed:")))
        server.annotate(RESPONDER, ASK)
        assert granted(server.update(SECOND, spec=MORE)) is Act.USED
        assert "is responder's" in refused(server.update(DEVELOPER, spec={"replicas": 6}))

    def test_grant_is_taken_over_by_a_request_of_another_person(self, server: Server) -> None:
        server.update(RESPONDER, texts=ASK, spec=MORE)
        assert granted(server.annotate(SECOND, reason="handed over at shift end")) is Act.ISSUED
        live = server.live()
        assert live is not None
        assert (live.actor, live.held) == ("second-responder", ("/spec/replicas",))
        message = refused(server.update(RESPONDER, spec={"replicas": 6}))
        assert "the grant for INC-42 is second-responder's" in message

    def test_grant_is_not_taken_over_with_the_reason_of_its_holder(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        message = refused(server.annotate(SECOND, ttl="2h"))
        assert "gives a reason of their own: this one is responder's" in message
        live = server.live()
        assert live is not None
        assert live.actor == RESPONDER.name

    def test_scale_is_allowed_only_under_an_open_grant(self, server: Server) -> None:
        assert refused(server.scale(RESPONDER, 9))
        server.annotate(RESPONDER, ASK)
        assert granted(server.scale(RESPONDER, 9)) is Act.USED
        server.pass_(hours=1)
        assert "expired at 2026-03-01 13:00:00 UTC" in refused(server.scale(RESPONDER, 3))

    def test_deletion_is_denied_unless_the_rule_names_it(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        message = refused(server.delete(RESPONDER))
        assert "does not cover delete: rule 'responders' does not name it" in message

    def test_deletion_is_allowed_if_the_rule_names_it(self) -> None:
        rules = POLICY.replace("closed:", "operations: [update, delete]\n      closed:")
        server = a_server(a_policy(rules))
        assert refused(server.delete(RESPONDER))
        server.annotate(RESPONDER, ASK)
        assert granted(server.delete(RESPONDER)) is Act.USED

    def test_grant_expires_to_the_second_for_update_and_scale(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(hours=1, seconds=-1)
        assert granted(server.scale(RESPONDER, 4)) is Act.USED
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED
        server.pass_(seconds=1)
        assert "expired" in refused(server.update(RESPONDER, spec={"replicas": 6}))
        assert "expired" in refused(server.scale(RESPONDER, 7))

    def test_expired_annotations_are_removed_with_the_next_write(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(hours=2)
        restart: dict[str, Any] = {"template": {"metadata": {"annotations": {}}}}
        assert server.update(FLUX_CONTROLLER, spec=restart).allowed
        assert server.annotations() == {}

    def test_removed_rule_ends_its_grants(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.policy = a_policy(POLICY.replace("name: responders", "name: others"))
        message = refused(server.update(RESPONDER, spec=MORE))
        assert "the rule 'responders' that gave the grant is not in the policy any more" in message

    def test_rule_without_hold_records_no_held_fields(self) -> None:
        server = a_server(a_policy(POLICY.replace("closed:", "hold: false\n      closed:")))
        server.update(RESPONDER, texts=ASK, spec=MORE)
        server.update(RESPONDER, spec={"paused": True})
        live = server.live()
        assert live is not None
        assert (live.hold, live.held) == (False, ())


class TestExtending:
    def test_longer_ttl_counts_from_the_start_of_the_grant(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        before = server.live()
        server.pass_(minutes=50)
        assert granted(server.annotate(RESPONDER, ttl="2h")) is Act.EXTENDED
        after = server.live()
        assert before is not None
        assert after is not None
        assert (after.id, after.start, after.expires) == (
            before.id,
            NOW,
            NOW + timedelta(hours=2),
        )

    def test_extension_beyond_the_longest_time_is_denied(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(minutes=50)
        assert "at most 4h, extensions included" in refused(server.annotate(RESPONDER, ttl="4h1s"))

    def test_extension_to_a_ttl_that_is_over_is_denied(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(minutes=50)
        message = refused(server.annotate(RESPONDER, ttl="50m"))
        assert "it counts from 12:00:00 UTC, the start" in message

    def test_request_after_the_expiry_issues_a_new_grant(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(hours=2)
        assert granted(server.annotate(RESPONDER, grant=None)) is Act.ISSUED
        live = server.live()
        assert live is not None
        assert live.expires == NOW + timedelta(hours=3)

    def test_extension_keeps_the_held_fields(self, server: Server) -> None:
        server.update(RESPONDER, texts=ASK, spec=MORE)
        server.annotate(RESPONDER, ttl="2h")
        live = server.live()
        assert live is not None
        assert live.held == ("/spec/replicas",)


class TestClosing:
    def test_removal_of_the_reason_closes_the_grant_and_removes_its_annotations(
        self, server: Server
    ) -> None:
        server.annotate(RESPONDER, ASK)
        decision = server.annotate(RESPONDER, reason=None, outcome="backported")
        assert granted(decision) is Act.CLOSED
        assert decision.grant is not None
        assert decision.grant.outcome == "backported"
        assert server.annotations() == {"outcome": "backported"}
        assert refused(server.update(RESPONDER, spec=MORE))

    def test_grant_is_closed_without_the_mutating_webhook(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.up = False
        assert granted(server.annotate(RESPONDER, reason=None)) is Act.CLOSED
        assert refused(server.update(RESPONDER, spec=MORE))
        assert "not stamped" in refused(server.annotate(RESPONDER, ASK))

    def test_change_in_the_closing_write_is_allowed(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        decision = server.update(RESPONDER, texts={"reason": None}, spec=MORE)
        assert granted(decision) is Act.CLOSED

    def test_unknown_outcome_is_denied(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        message = refused(server.annotate(RESPONDER, reason=None, outcome="whatever"))
        assert "'whatever' is none of backported, delegated, reverted" in message

    @pytest.mark.parametrize(
        ("actor", "may"), [(SECOND, True), (DEVELOPER, True), (OUTSIDER, False)]
    )
    def test_grant_can_be_closed_only_by_those_a_rule_names(
        self,
        server: Server,
        actor: Actor,
        may: bool,  # noqa: FBT001 - a table
    ) -> None:
        server.annotate(RESPONDER, ASK)
        decision = server.annotate(actor, reason=None)
        assert decision.allowed is may
        if not may:
            assert "outsider may not end a grant that is not theirs" in decision.message

    def test_reconciler_that_drops_the_annotations_does_not_end_the_grant(
        self, server: Server
    ) -> None:
        server.annotate(RESPONDER, ASK)
        before = server.annotations()
        dropped = dict.fromkeys(before)
        assert server.update(FLUX_CONTROLLER, texts=dropped, spec=MORE).allowed
        assert server.annotations() == before


class TestApproval:
    def request_id(self, server: Server) -> str:
        return server.annotations()["request"].partition(":")[0]

    def test_a_request_waits_for_a_second_person(self, server: Server) -> None:
        decision = server.annotate(DEVELOPER, ASK_CHANGE)
        assert granted(decision) is Act.REQUESTED
        assert server.annotations()["approval"] == "pending"
        assert server.live() is None
        assert refused(server.update(DEVELOPER, spec=MORE))

    def test_requester_is_warned_with_the_approval_command(self, server: Server) -> None:
        decision = server.annotate(DEVELOPER, ASK_CHANGE)
        assert decision.warnings == (
            "This waits until 2026-03-01 12:15:00 UTC for group leads to approve:",
            (
                "  kubectl annotate deployment/web -n shop "
                f"breakglass.glasswarden.io/approve={self.request_id(server)}"
            ),
        )

    def test_request_is_approved_by_its_id(self, server: Server) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE)
        server.pass_(minutes=10)
        decision = server.annotate(LEAD, approve=self.request_id(server))
        assert granted(decision) is Act.APPROVED
        use = decision.grant
        assert use is not None
        assert (use.actor, use.approver) == ("developer", "lead")
        live = server.live()
        assert live is not None
        assert live.expires == NOW + timedelta(hours=1, minutes=10)
        assert granted(server.update(DEVELOPER, spec=MORE)) is Act.USED
        assert "is developer's" in refused(server.update(LEAD, spec={"replicas": 7}))
        assert {"approval", "request"}.isdisjoint(server.annotations())

    @pytest.mark.parametrize(
        ("actor", "why"),
        [
            pytest.param(DEVELOPER, "somebody else approves, not developer", id="the requester"),
            pytest.param(OUTSIDER, "outsider is none of the approvers", id="an unauthorized user"),
            pytest.param(RESPONDER, "responder is none of the approvers", id="another rule's"),
            pytest.param(
                Actor("lead", groups=("leads",), extra=frozenset({"developer"})),
                "somebody else approves, not developer",
                id="the requester behind an approver's name",
            ),
        ],
    )
    def test_approval_by_anybody_but_an_approver_is_denied(
        self, server: Server, actor: Actor, why: str
    ) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE)
        assert why in refused(server.annotate(actor, approve=self.request_id(server)))
        assert server.live() is None

    def test_approval_by_the_requester_is_denied_also_under_another_name(
        self, server: Server
    ) -> None:
        both = Actor("boss", "5ea1", ("developers", "leads"))
        server.annotate(both, ASK_CHANGE)
        request = self.request_id(server)
        assert "not boss" in refused(server.annotate(both, approve=request))
        alias = Actor("boss-admin", "5ea1", ("leads",))
        assert "not boss" in refused(server.annotate(alias, approve=request))

    def test_late_approval_is_denied(self, server: Server) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE)
        request = self.request_id(server)
        server.pass_(minutes=15)
        assert "it waited too long" in refused(server.annotate(LEAD, approve=request))

    def test_approval_of_another_request_is_denied(self, server: Server) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE)
        assert "the request that waits here is" in refused(server.annotate(LEAD, approve="x"))

    def test_approval_that_changes_the_request_is_denied(self, server: Server) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE)
        request = self.request_id(server)
        message = refused(server.annotate(LEAD, approve=request, ttl="59m"))
        assert "an approval changes nothing of the request" in message
        message = refused(server.update(LEAD, texts={"approve": request}, spec=MORE))
        assert "an approval changes nothing else" in message

    def test_request_with_a_change_is_denied_where_approval_is_required(
        self, server: Server
    ) -> None:
        message = refused(server.update(DEVELOPER, texts=ASK_CHANGE, spec=MORE))
        assert "set the annotations alone, and change the rest when it is approved" in message

    def test_person_who_changes_the_request_becomes_the_requester(self, server: Server) -> None:
        both = Actor("boss", "5ea1", ("developers", "leads"))
        server.annotate(DEVELOPER, ASK_CHANGE)
        assert granted(server.annotate(both, ttl="45m")) is Act.REQUESTED
        request = self.request_id(server)
        assert "not boss" in refused(server.annotate(both, approve=request))

    def test_extension_waits_for_approval_while_the_grant_stays_open(self, server: Server) -> None:
        server.annotate(DEVELOPER, {**ASK_CHANGE, "ttl": "30m"})
        server.annotate(LEAD, approve=self.request_id(server))
        server.pass_(minutes=20)
        assert granted(server.annotate(DEVELOPER, ttl="1h")) is Act.REQUESTED
        assert granted(server.update(DEVELOPER, spec=MORE)) is Act.USED
        assert granted(server.annotate(LEAD, approve=self.request_id(server))) is Act.APPROVED
        live = server.live()
        assert live is not None
        assert live.expires == NOW + timedelta(hours=1)

    def test_a_request_can_be_withdrawn(self, server: Server) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE)
        assert granted(server.annotate(DEVELOPER, reason=None)) is Act.CLOSED
        assert server.annotations() == {}


class TestNamespaceGrants:
    def test_namespace_grant_covers_the_objects_in_it(self, server: Server) -> None:
        assert granted(server.annotate(RESPONDER, ASK, "shop")) is Act.ISSUED
        assert server.objects["shop"]["metadata"]["labels"] == {
            "breakglass.glasswarden.io/active": "true"
        }
        for name in ("web", "api"):
            decision = server.update(RESPONDER, name, spec=MORE)
            assert granted(decision) is Act.USED
            assert decision.grant is not None
            assert decision.grant.namespaced
        assert granted(server.scale(RESPONDER, 9)) is Act.USED
        assert refused(server.update(SECOND, spec=MORE))

    def test_changed_fields_are_stamped_on_each_object(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        server.update(RESPONDER, spec=MORE)
        server.update(RESPONDER, spec={"paused": True})
        live = server.live()
        assert live is not None
        assert (live.held, live.namespace) == (("/spec/paused", "/spec/replicas"), "ns-1")

    def test_namespace_grant_keeps_the_grant_of_another_person_on_an_object(
        self, server: Server
    ) -> None:
        server.annotate(SECOND, ASK)
        server.annotate(RESPONDER, ASK, "shop")
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED
        assert granted(server.update(SECOND, spec={"paused": True})) is Act.USED
        live = server.live()
        assert live is not None
        assert (live.actor, live.held) == (SECOND.name, ("/spec/paused", "/spec/replicas"))

    def test_stamp_of_a_namespace_grant_cannot_be_removed_from_an_object(
        self, server: Server
    ) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        server.update(RESPONDER, spec=MORE)
        token = server.annotations()["grant"]
        assert server.annotate(OUTSIDER, grant=None).allowed
        assert server.annotations()["grant"] == token
        server.up = False
        assert "not its stamp" in refused(server.annotate(OUTSIDER, grant=None))

    def test_closed_namespace_grant_ends_for_every_object(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        server.update(RESPONDER, spec=MORE)
        assert granted(server.annotate(RESPONDER, name="shop", reason=None)) is Act.CLOSED
        assert server.objects["shop"]["metadata"]["labels"] == {}
        assert refused(server.update(RESPONDER, spec={"replicas": 6}))

    def test_denied_request_on_an_unmanaged_namespace_names_the_reason(
        self, server: Server
    ) -> None:
        message = refused(server.annotate(RESPONDER, {**ASK, "ticket": "none"}, "shop"))
        assert "the ticket 'none' does not match INC-[0-9]+" in message

    def test_ordinary_write_to_the_namespace_is_unmanaged(self, server: Server) -> None:
        assert server.update(OUTSIDER, "shop", labels={"team": "b"}).clause is Clause.UNMANAGED
        server.annotate(RESPONDER, ASK, "shop")
        assert server.update(OUTSIDER, "shop", labels={"team": "c"}).clause is Clause.UNMANAGED

    def test_rule_without_namespace_wide_grants_denies_the_request(self) -> None:
        rules = POLICY.replace("closed:", "namespaceWide: false\n      closed:")
        server = a_server(a_policy(rules))
        assert "no rule lets responder" in refused(server.annotate(RESPONDER, ASK, "shop"))

    def test_selectors_of_the_rule_apply_to_each_object(self) -> None:
        rules = POLICY.replace("closed:", "names: [web, shop]\n      closed:")
        server = a_server(a_policy(rules))
        server.annotate(RESPONDER, ASK, "shop")
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED
        assert "is not about this object" in refused(server.update(RESPONDER, "api", spec=MORE))

    def test_removed_active_label_is_restored(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        server.update(OUTSIDER, "shop", labels={"breakglass.glasswarden.io/active": None})
        assert "breakglass.glasswarden.io/active" in server.objects["shop"]["metadata"]["labels"]
        server.up = False
        gone = server.update(OUTSIDER, "shop", labels={"breakglass.glasswarden.io/active": None})
        assert "comes and goes with a grant" in refused(gone)

    def test_prune_of_a_scaled_object_is_held(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        assert server.delete(FLUX_CONTROLLER, "api").allowed  # nobody has touched it
        server.scale(RESPONDER, 9)
        message = refused(server.delete(FLUX_CONTROLLER))
        assert "is held until 2026-03-01 13:00:00 UTC: responder broke the glass" in message
        assert "(checkout is down for everybody)" in message
        server.pass_(hours=1)
        assert server.delete(FLUX_CONTROLLER).allowed

    def test_prune_of_a_scaled_object_is_allowed_without_hold(self) -> None:
        rules = POLICY.replace("closed:", "hold: false\n      closed:")
        server = a_server(a_policy(rules))
        server.annotate(RESPONDER, ASK, "shop")
        server.scale(RESPONDER, 9)
        assert server.delete(FLUX_CONTROLLER).allowed


def forged(server: Server, token: str, actor: Actor = RESPONDER, name: str = "web") -> str:
    """Return what somebody is told who writes *token* beside a reason by hand."""
    server.up = False
    return refused(server.update(actor, name, texts={**ASK, "grant": token}, spec=MORE))


class TestForgery:
    """What the mutating webhook does not undo, the validating one denies."""

    def test_stamp_copied_from_another_object_is_denied(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "api")
        message = forged(server, server.annotations("api")["grant"])
        assert "its stamp does not count: it was issued for another object" in message

    def test_stamp_of_an_object_is_denied_on_the_namespace(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        token = server.annotations()["grant"]
        server.up = False
        message = refused(server.annotate(RESPONDER, ASK, "shop", grant=token))
        assert "it was issued for another object" in message

    def test_stamp_of_the_namespace_is_denied_on_an_object(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        message = forged(server, server.annotations("shop")["grant"])
        assert "it was issued for another object" in message

    def test_stamp_of_another_cluster_is_denied(self, server: Server) -> None:
        token = issue_stamp(a_stamp(cluster="staging", version="102"), RING, NOW)
        assert "it was issued in another cluster" in forged(server, token)

    def test_stamp_of_another_person_is_denied(self, server: Server) -> None:
        version = server.objects["web"]["metadata"]["resourceVersion"]
        token = issue_stamp(a_stamp(version=version), RING, NOW)
        assert "it was issued to somebody else" in forged(server, token, OUTSIDER)

    def test_expired_stamp_is_denied(self, server: Server) -> None:
        version = server.objects["web"]["metadata"]["resourceVersion"]
        expires = NOW - timedelta(seconds=1)
        token = issue_stamp(a_stamp(version=version, start=NOW, expires=expires), RING, NOW)
        assert "it has expired" in forged(server, token)

    def test_edited_stamp_is_denied(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        payload, key, mac = server.annotations()["grant"].split(".")
        assert "its signature does not fit" in forged(server, f"{payload[:-4]}AAAA.{key}.{mac}")

    def test_stamp_of_an_unknown_key_is_denied(self, server: Server) -> None:
        version = server.objects["web"]["metadata"]["resourceVersion"]
        foreign = Ring([Key("20260202T000000Z", b"f" * 32, NOW)])
        token = issue_stamp(a_stamp(version=version), foreign, NOW)
        assert "its key is not known, or was revoked" in forged(server, token)

    def test_text_that_is_no_token_is_denied(self, server: Server) -> None:
        assert "it is no token of three parts" in forged(server, "let me in")

    def test_replayed_stamp_of_a_closed_grant_is_denied(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        token = server.annotations()["grant"]
        server.annotate(RESPONDER, reason=None)
        assert "it was issued for another write" in forged(server, token)

    def test_extension_without_the_mutating_webhook_is_denied(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.up = False
        assert "the request was not stamped" in refused(server.annotate(RESPONDER, ttl="4h"))

    def test_changed_ticket_without_the_mutating_webhook_is_denied(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.up = False
        assert "not stamped" in refused(server.annotate(RESPONDER, ticket="INC-1"))

    def test_revoked_key_ends_its_grants(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        assert server.live() is not None
        server.ring = Ring([Key("20260301T110000Z", b"n" * 32, NOW)])
        assert refused(server.update(RESPONDER, spec=MORE))

    def test_new_key_keeps_grants_of_the_old_one(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.ring = Ring([KEY, Key("20260301T110000Z", b"n" * 32, NOW)])
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED

    def test_stamp_without_a_reason_is_denied(self, server: Server) -> None:
        """Without a reason there is no request: the write only sets a stamp."""
        message = refused(server.annotate(OUTSIDER, grant="let me in"))
        assert "Stamps are Glasswarden's alone to write." in message

    def test_removed_stamp_is_restored_or_denied(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        token = server.annotations()["grant"]
        assert server.annotate(OUTSIDER, grant=None).allowed
        assert server.annotations()["grant"] == token
        server.up = False
        message = refused(server.annotate(OUTSIDER, grant=None))
        assert "a grant is ended by removing its reason" in message

    def test_forged_request_and_approval_are_denied(self, server: Server) -> None:
        message = refused(server.annotate(OUTSIDER, request="x:y", approval="pending"))
        assert "its request does not count" in message
        assert "is not for people to write" in refused(server.annotate(LEAD, approval="granted"))

    def test_request_copied_from_another_object_is_denied(self, server: Server) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE, "api")
        copied = {key: server.annotations("api")[key] for key in ("request", "approval")}
        server.up = False
        message = refused(server.annotate(DEVELOPER, ASK_CHANGE, **copied))
        assert "its request was not made in this write" in message

    @pytest.mark.parametrize("mode", ["warn", "audit"])
    def test_forged_stamp_is_denied_in_every_mode(self, mode: str) -> None:
        server = a_server(a_policy(f"mode: {mode}\n{POLICY}"))
        assert "its stamp does not count" in refused(server.annotate(OUTSIDER, grant="x"))

    def test_forged_stamp_is_denied_despite_the_detach_right(self) -> None:
        server = a_server(a_policy(f"detach: {{users: [outsider]}}\n{POLICY}"))
        assert "its stamp does not count" in refused(server.annotate(OUTSIDER, grant="x"))

    def test_forged_stamp_is_denied_despite_a_delegation(self) -> None:
        policy = "delegations: [{name: x, managers: [x], fields: [/spec/a]}]"
        server = a_server(a_policy(f"{policy}\n{POLICY}"))
        assert refused(server.update(OUTSIDER, texts={"grant": "x"}, manager="x"))

    def test_closed_stamp_from_git_is_removed(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        texts = dict(server.annotations())
        server.annotate(RESPONDER, reason=None)
        assert server.update(FLUX_CONTROLLER, texts=texts, spec=MORE).allowed
        assert server.live() is None
        assert "grant" not in server.annotations()

    def test_applied_stamp_does_not_count_after_an_outage_of_the_mutating_webhook(
        self, server: Server
    ) -> None:
        """What a reconciler applies belongs to it; a stamp belongs to the webhook only."""
        server.annotate(RESPONDER, ASK)
        texts = dict(server.annotations())
        server.annotate(RESPONDER, reason=None)
        server.up = False
        assert server.update(FLUX_CONTROLLER, texts=texts, manager=KUSTOMIZE).allowed
        assert server.live() is None
        server.up = True
        message = refused(server.update(RESPONDER, spec=MORE))
        assert "the stamp does not count: it was applied, from Git or by hand" in message
        assert refused(server.scale(RESPONDER, 9))
        server.update(FLUX_CONTROLLER, manager=KUSTOMIZE)
        assert server.annotations() == {}
        assert granted(server.annotate(RESPONDER, ASK)) is Act.ISSUED

    def test_updated_stamp_of_git_does_not_count_after_an_outage_of_the_mutating_webhook(
        self, server: Server
    ) -> None:
        server.annotate(RESPONDER, ASK)
        texts = dict(server.annotations())
        server.annotate(RESPONDER, reason=None)
        server.up = False
        server.update(FLUX_CONTROLLER, texts=texts, manager="argocd-controller")
        assert server.live() is None
        assert refused(server.update(RESPONDER, spec=MORE))

    @pytest.mark.parametrize("manager", ["kubectl-annotate", "applier"])
    def test_stamp_written_over_an_expired_one_is_denied(
        self, server: Server, manager: str
    ) -> None:
        """The webhook removes what has expired, and what somebody wrote in its place."""
        server.annotate(RESPONDER, ASK)
        server.pass_(hours=2)
        texts = {"grant": "x", "reason": None}
        message = refused(server.update(OUTSIDER, texts=texts, manager=manager))
        assert "its stamp would not count" in message

    def test_stamp_of_a_client_side_apply_does_not_count_after_an_outage(
        self, server: Server
    ) -> None:
        server.annotate(RESPONDER, ASK)
        texts = dict(server.annotations())
        server.annotate(RESPONDER, reason=None)
        server.up = False
        server.update(FLUX_CONTROLLER, texts=texts)
        declared = {f"breakglass.glasswarden.io/{key}": text for key, text in texts.items()}
        server.objects["web"]["metadata"]["annotations"][LAST_APPLIED] = json.dumps(
            {"metadata": {"annotations": declared}}
        )
        assert server.live() is None
        assert refused(server.update(RESPONDER, spec=MORE))

    def test_applied_stamp_is_not_restored_while_a_request_waits(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        texts = dict(server.annotations())
        server.annotate(RESPONDER, reason=None)
        server.annotate(DEVELOPER, ASK_CHANGE)
        server.up = False
        server.update(FLUX_CONTROLLER, texts=texts, manager=KUSTOMIZE)
        server.up = True
        server.update(FLUX_CONTROLLER, manager=KUSTOMIZE)
        assert server.live() is None
        assert "grant" not in server.annotations()

    def test_applied_stamp_does_not_count_after_wiping_managed_fields(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        texts = dict(server.annotations())
        server.annotate(RESPONDER, reason=None)
        server.up = False
        server.update(FLUX_CONTROLLER, texts=texts, manager=KUSTOMIZE)
        assert "it was issued for another write" in refused(server.disown(RESPONDER))
        server.up = True
        assert server.disown(RESPONDER).allowed
        assert server.annotations() == {}

    def test_applying_the_live_stamp_is_denied_and_does_not_end_the_grant(
        self, server: Server
    ) -> None:
        server.annotate(RESPONDER, ASK)
        texts = {"grant": server.annotations()["grant"]}
        message = refused(server.update(OUTSIDER, texts=texts, manager="applier"))
        assert "its stamp would not count: it was applied" in message
        assert server.live() is not None
