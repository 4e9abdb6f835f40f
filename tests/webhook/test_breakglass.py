"""Break-glass on a model of the API server: what people write, and what becomes of it.

tests/cluster/test_breakglass.py has the same people on the real one.
"""

import json
from datetime import timedelta
from typing import Any

import pytest

from glasswarden.keys.ring import Key, Ring
from glasswarden.kube.hold import LAST_APPLIED
from glasswarden.policy.breakglass.annotations import OpenGrants
from glasswarden.policy.breakglass.tokens import Act, issue
from glasswarden.policy.decision import Clause, Decision
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
from tests.policy.builders import DEVELOPER, FLUX_CONTROLLER, NOW, a_policy
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


def granted(decision: Decision) -> Act | None:
    """Return what the write did with a grant, if it was allowed by one."""
    assert decision.allowed, decision.message
    assert decision.clause is Clause.BREAKGLASS
    return decision.grant.act if decision.grant else None


def refused(decision: Decision) -> str:
    assert not decision.allowed
    return decision.message


class TestAsking:
    def test_in_the_same_write_as_the_change(self, server: Server) -> None:
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

    def test_in_a_write_before_it(self, server: Server) -> None:
        assert granted(server.annotate(RESPONDER, ASK)) is Act.ISSUED
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED
        assert granted(server.update(RESPONDER, spec={"paused": True})) is Act.USED
        live = server.live()
        assert live is not None
        assert live.held == ("/spec/paused", "/spec/replicas")

    def test_without_a_ttl_the_rules_default_serves(self, server: Server) -> None:
        decision = server.annotate(RESPONDER, {**ASK, "ttl": None})
        assert decision.grant is not None
        assert decision.grant.expires == NOW + timedelta(minutes=30)

    def test_the_person_is_told_until_when(self, server: Server) -> None:
        decision = server.annotate(RESPONDER, ASK)
        assert decision.grant is not None
        assert decision.warnings == (
            (
                "responder may write to Deployment shop/web until 2026-03-01 13:00:00 UTC "
                f"(INC-42, grant {decision.grant.id})."
            ),
        )

    def test_what_a_terminal_would_obey_is_not_shown(self) -> None:
        server = a_server(a_policy("breakGlass: {rules: [{name: a, users: ['*']}]}"))
        [told] = server.annotate(RESPONDER, ASK, ticket="\x1b[2J").warnings
        assert told.isprintable()

    def test_nothing_else_on_the_object_is_touched(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        assert server.objects["web"]["metadata"]["annotations"]["example.com/team"] == "shop"

    def test_nobody_is_asked_for_a_reason_on_what_nobody_guards(self, server: Server) -> None:
        server.objects["web"]["metadata"]["labels"] = {}
        decision = server.annotate(OUTSIDER, ASK)
        assert (decision.clause, server.live()) == (Clause.UNMANAGED, None)

    def test_a_dry_run_is_told_and_what_it_shows_is_worth_nothing(self, server: Server) -> None:
        assert granted(server.update(RESPONDER, texts=ASK, spec=MORE, dry_run=True)) is Act.ISSUED
        [token] = server.seen
        assert server.live() is None
        server.up = False
        message = refused(server.annotate(RESPONDER, ASK, grant=token))
        assert "it was issued for another write" in message

    def test_asked_twice_about_one_write_it_answers_alike(self, server: Server) -> None:
        """Another mutating webhook may change something after ours: then it is called again."""
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


class TestRefusals:
    @pytest.mark.parametrize(("texts", "why"), REFUSALS.values(), ids=REFUSALS)
    def test_each_says_which_rule_and_what_would_pass(
        self, server: Server, texts: dict[str, str | None], why: str
    ) -> None:
        message = refused(server.annotate(RESPONDER, texts))
        assert "Break-glass: by rule 'responders', " in message
        assert why in message
        assert server.annotations() == {}

    def test_somebody_whom_no_rule_names(self, server: Server) -> None:
        message = refused(server.annotate(OUTSIDER, ASK))
        assert "no rule lets outsider break the glass here" in message
        assert "Who may break the glass here: group responders, group developers." in message

    def test_a_closed_field(self, server: Server) -> None:
        changed = {"serviceAccountName": "root"}
        same = refused(server.update(RESPONDER, texts=ASK, spec=changed))
        assert "/spec/serviceAccountName stays closed even under a grant" in same
        server.annotate(RESPONDER, ASK)
        later = refused(server.update(RESPONDER, spec=changed))
        assert "by rule 'responders', /spec/serviceAccountName stays closed" in later
        assert "To break the glass" not in later  # they have

    def test_too_many_at_once(self, server: Server) -> None:
        server.open = OpenGrants(person=2)
        assert "at most 2 grants open at once" in refused(server.annotate(RESPONDER, ASK))
        server.open = OpenGrants(namespace=3)
        assert "a namespace has at most 3" in refused(server.annotate(RESPONDER, ASK))

    def test_ownership_marks_stay_closed(self, server: Server) -> None:
        labels = {"kustomize.toolkit.fluxcd.io/name": None}
        decision = server.update(RESPONDER, texts=ASK, labels=labels)
        assert (decision.allowed, decision.clause) == (False, Clause.MARKS)

    def test_without_the_mutating_webhook_nobody_gets_in(self, server: Server) -> None:
        server.up = False
        message = refused(server.update(RESPONDER, texts=ASK, spec=MORE))
        assert "the request was not stamped" in message

    def test_without_a_rule_nobody_gets_in(self) -> None:
        server = a_server(a_policy())
        message = refused(server.update(RESPONDER, texts=ASK, spec=MORE))
        assert "Nobody may break the glass here: the policy has no rule for it." in message


class TestUsing:
    def test_a_grant_is_one_persons(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        assert "the grant for INC-42 is responder's" in refused(server.update(SECOND, spec=MORE))

    def test_unless_the_rule_shares_it_in_the_group(self) -> None:
        server = a_server(a_policy(POLICY.replace("closed:", "shared: true\n      closed:")))
        server.annotate(RESPONDER, ASK)
        assert granted(server.update(SECOND, spec=MORE)) is Act.USED
        assert "is responder's" in refused(server.update(DEVELOPER, spec={"replicas": 6}))

    def test_somebody_else_may_take_it_over_by_asking(self, server: Server) -> None:
        server.update(RESPONDER, texts=ASK, spec=MORE)
        assert granted(server.annotate(SECOND, reason="handed over at shift end")) is Act.ISSUED
        live = server.live()
        assert live is not None
        assert (live.actor, live.held) == ("second-responder", ("/spec/replicas",))
        message = refused(server.update(RESPONDER, spec={"replicas": 6}))
        assert "the grant for INC-42 is second-responder's" in message

    def test_but_not_under_the_reason_of_another(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        message = refused(server.annotate(SECOND, ttl="2h"))
        assert "gives a reason of their own: this one is responder's" in message
        live = server.live()
        assert live is not None
        assert live.actor == RESPONDER.name

    def test_scale(self, server: Server) -> None:
        assert refused(server.scale(RESPONDER, 9))
        server.annotate(RESPONDER, ASK)
        assert granted(server.scale(RESPONDER, 9)) is Act.USED
        server.pass_(hours=1)
        assert "expired at 2026-03-01 13:00:00 UTC" in refused(server.scale(RESPONDER, 3))

    def test_a_deletion_must_be_named_by_the_rule(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        message = refused(server.delete(RESPONDER))
        assert "does not cover delete: rule 'responders' does not name it" in message

    def test_and_then_it_is_allowed(self) -> None:
        rules = POLICY.replace("closed:", "operations: [update, delete]\n      closed:")
        server = a_server(a_policy(rules))
        assert refused(server.delete(RESPONDER))
        server.annotate(RESPONDER, ASK)
        assert granted(server.delete(RESPONDER)) is Act.USED

    def test_it_ends_to_the_second_on_every_path(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(hours=1, seconds=-1)
        assert granted(server.scale(RESPONDER, 4)) is Act.USED
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED
        server.pass_(seconds=1)
        assert "expired" in refused(server.update(RESPONDER, spec={"replicas": 6}))
        assert "expired" in refused(server.scale(RESPONDER, 7))

    def test_what_is_over_leaves_with_the_next_write(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(hours=2)
        restart: dict[str, Any] = {"template": {"metadata": {"annotations": {}}}}
        assert server.update(FLUX_CONTROLLER, spec=restart).allowed
        assert server.annotations() == {}

    def test_a_rule_that_is_gone_takes_its_grants_with_it(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.policy = a_policy(POLICY.replace("name: responders", "name: others"))
        message = refused(server.update(RESPONDER, spec=MORE))
        assert "the rule 'responders' that gave the grant is not in the policy any more" in message

    def test_hold_off_remembers_no_fields(self) -> None:
        server = a_server(a_policy(POLICY.replace("closed:", "hold: false\n      closed:")))
        server.update(RESPONDER, texts=ASK, spec=MORE)
        server.update(RESPONDER, spec={"paused": True})
        live = server.live()
        assert live is not None
        assert (live.hold, live.held) == (False, ())


class TestExtending:
    def test_a_longer_ttl_counts_from_the_beginning(self, server: Server) -> None:
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

    def test_the_longest_time_bounds_the_whole(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(minutes=50)
        assert "at most 4h, extensions included" in refused(server.annotate(RESPONDER, ttl="4h1s"))

    def test_a_ttl_that_is_over_is_none(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(minutes=50)
        message = refused(server.annotate(RESPONDER, ttl="50m"))
        assert "it counts from 12:00:00 UTC, the start" in message

    def test_a_grant_that_is_over_is_asked_for_anew(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(hours=2)
        assert granted(server.annotate(RESPONDER, grant=None)) is Act.ISSUED
        live = server.live()
        assert live is not None
        assert live.expires == NOW + timedelta(hours=3)

    def test_the_fields_that_are_held_stay_so(self, server: Server) -> None:
        server.update(RESPONDER, texts=ASK, spec=MORE)
        server.annotate(RESPONDER, ttl="2h")
        live = server.live()
        assert live is not None
        assert live.held == ("/spec/replicas",)


class TestClosing:
    def test_removing_the_reason_ends_it_and_clears_up(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        decision = server.annotate(RESPONDER, reason=None, outcome="backported")
        assert granted(decision) is Act.CLOSED
        assert decision.grant is not None
        assert decision.grant.outcome == "backported"
        assert server.annotations() == {"outcome": "backported"}
        assert refused(server.update(RESPONDER, spec=MORE))

    def test_also_where_the_mutating_webhook_is_away(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.up = False
        assert granted(server.annotate(RESPONDER, reason=None)) is Act.CLOSED
        assert refused(server.update(RESPONDER, spec=MORE))
        assert "not stamped" in refused(server.annotate(RESPONDER, ASK))

    def test_a_last_change_may_go_with_it(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        decision = server.update(RESPONDER, texts={"reason": None}, spec=MORE)
        assert granted(decision) is Act.CLOSED

    def test_an_outcome_is_one_of_three(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        message = refused(server.annotate(RESPONDER, reason=None, outcome="whatever"))
        assert "'whatever' is none of backported, delegated, reverted" in message

    @pytest.mark.parametrize(
        ("actor", "may"), [(SECOND, True), (DEVELOPER, True), (OUTSIDER, False)]
    )
    def test_it_is_for_those_who_may_break_the_glass(
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

    def test_a_reconciler_that_drops_our_annotations_does_not_end_it(self, server: Server) -> None:
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

    def test_and_the_person_is_told_whom_to_ask(self, server: Server) -> None:
        decision = server.annotate(DEVELOPER, ASK_CHANGE)
        assert decision.warnings == (
            "This waits until 2026-03-01 12:15:00 UTC for group leads to approve:",
            (
                "  kubectl annotate deployment/web -n shop "
                f"breakglass.glasswarden.io/approve={self.request_id(server)}"
            ),
        )

    def test_who_agrees_by_its_id(self, server: Server) -> None:
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
            pytest.param(OUTSIDER, "outsider is none of the approvers", id="a stranger"),
            pytest.param(RESPONDER, "responder is none of the approvers", id="another rule's"),
            pytest.param(
                Actor("lead", groups=("leads",), extra=frozenset({"developer"})),
                "somebody else approves, not developer",
                id="the requester behind an approver's name",
            ),
        ],
    )
    def test_not_by_just_anybody(self, server: Server, actor: Actor, why: str) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE)
        assert why in refused(server.annotate(actor, approve=self.request_id(server)))
        assert server.live() is None

    def test_not_by_the_requester_who_also_approves(self, server: Server) -> None:
        both = Actor("boss", "5ea1", ("developers", "leads"))
        server.annotate(both, ASK_CHANGE)
        request = self.request_id(server)
        assert "not boss" in refused(server.annotate(both, approve=request))
        alias = Actor("boss-admin", "5ea1", ("leads",))
        assert "not boss" in refused(server.annotate(alias, approve=request))

    def test_not_after_its_time(self, server: Server) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE)
        request = self.request_id(server)
        server.pass_(minutes=15)
        assert "it waited too long" in refused(server.annotate(LEAD, approve=request))

    def test_not_for_another_request(self, server: Server) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE)
        assert "the request that waits here is" in refused(server.annotate(LEAD, approve="x"))

    def test_not_with_a_change_of_what_was_asked(self, server: Server) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE)
        request = self.request_id(server)
        message = refused(server.annotate(LEAD, approve=request, ttl="59m"))
        assert "an approval changes nothing of the request" in message
        message = refused(server.update(LEAD, texts={"approve": request}, spec=MORE))
        assert "an approval changes nothing else" in message

    def test_asking_and_changing_at_once_is_told_to_ask_first(self, server: Server) -> None:
        message = refused(server.update(DEVELOPER, texts=ASK_CHANGE, spec=MORE))
        assert "set the annotations alone, and change the rest when it is approved" in message

    def test_whoever_changes_the_request_is_the_requester(self, server: Server) -> None:
        both = Actor("boss", "5ea1", ("developers", "leads"))
        server.annotate(DEVELOPER, ASK_CHANGE)
        assert granted(server.annotate(both, ttl="45m")) is Act.REQUESTED
        request = self.request_id(server)
        assert "not boss" in refused(server.annotate(both, approve=request))

    def test_an_extension_waits_too_and_the_grant_goes_on_meanwhile(self, server: Server) -> None:
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


class TestNamespaces:
    def test_a_grant_on_a_namespace_covers_what_is_in_it(self, server: Server) -> None:
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

    def test_what_is_changed_is_remembered_on_each_object(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        server.update(RESPONDER, spec=MORE)
        server.update(RESPONDER, spec={"paused": True})
        live = server.live()
        assert live is not None
        assert (live.held, live.namespace) == (("/spec/paused", "/spec/replicas"), "ns-1")

    def test_somebody_elses_grant_on_an_object_stays(self, server: Server) -> None:
        server.annotate(SECOND, ASK)
        server.annotate(RESPONDER, ASK, "shop")
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED
        assert granted(server.update(SECOND, spec={"paused": True})) is Act.USED
        live = server.live()
        assert live is not None
        assert (live.actor, live.held) == (SECOND.name, ("/spec/paused", "/spec/replicas"))

    def test_that_is_not_taken_off_by_hand(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        server.update(RESPONDER, spec=MORE)
        token = server.annotations()["grant"]
        assert server.annotate(OUTSIDER, grant=None).allowed
        assert server.annotations()["grant"] == token
        server.up = False
        assert "not its stamp" in refused(server.annotate(OUTSIDER, grant=None))

    def test_closing_it_ends_it_for_every_object(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        server.update(RESPONDER, spec=MORE)
        assert granted(server.annotate(RESPONDER, name="shop", reason=None)) is Act.CLOSED
        assert server.objects["shop"]["metadata"]["labels"] == {}
        assert refused(server.update(RESPONDER, spec={"replicas": 6}))

    def test_its_refusals_are_told_though_nobody_manages_it(self, server: Server) -> None:
        message = refused(server.annotate(RESPONDER, {**ASK, "ticket": "none"}, "shop"))
        assert "the ticket 'none' does not match INC-[0-9]+" in message

    def test_ordinary_writes_to_it_are_nobodys_business(self, server: Server) -> None:
        assert server.update(OUTSIDER, "shop", labels={"team": "b"}).clause is Clause.UNMANAGED
        server.annotate(RESPONDER, ASK, "shop")
        assert server.update(OUTSIDER, "shop", labels={"team": "c"}).clause is Clause.UNMANAGED

    def test_a_rule_may_give_none_of_that_kind(self) -> None:
        rules = POLICY.replace("closed:", "namespaceWide: false\n      closed:")
        server = a_server(a_policy(rules))
        assert "no rule lets responder" in refused(server.annotate(RESPONDER, ASK, "shop"))

    def test_the_rules_place_is_asked_of_each_object(self) -> None:
        rules = POLICY.replace("closed:", "names: [web, shop]\n      closed:")
        server = a_server(a_policy(rules))
        server.annotate(RESPONDER, ASK, "shop")
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED
        assert "is not about this object" in refused(server.update(RESPONDER, "api", spec=MORE))

    def test_its_label_is_put_back(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        server.update(OUTSIDER, "shop", labels={"breakglass.glasswarden.io/active": None})
        assert "breakglass.glasswarden.io/active" in server.objects["shop"]["metadata"]["labels"]
        server.up = False
        gone = server.update(OUTSIDER, "shop", labels={"breakglass.glasswarden.io/active": None})
        assert "comes and goes with a grant" in refused(gone)

    def test_a_prune_waits_where_something_was_only_scaled(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        assert server.delete(FLUX_CONTROLLER, "api").allowed  # nobody has touched it
        server.scale(RESPONDER, 9)
        message = refused(server.delete(FLUX_CONTROLLER))
        assert "is held until 2026-03-01 13:00:00 UTC: responder broke the glass" in message
        assert "(checkout is down for everybody)" in message
        server.pass_(hours=1)
        assert server.delete(FLUX_CONTROLLER).allowed

    def test_unless_the_rule_does_not_hold(self) -> None:
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
    """What the mutating webhook does not undo, the validating one refuses: ours may be away."""

    def test_a_copy_from_another_object(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "api")
        message = forged(server, server.annotations("api")["grant"])
        assert "its stamp does not count: it was issued for another object" in message

    def test_a_move_to_a_namespace(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        token = server.annotations()["grant"]
        server.up = False
        message = refused(server.annotate(RESPONDER, ASK, "shop", grant=token))
        assert "it was issued for another object" in message

    def test_a_namespaces_own_on_an_object(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK, "shop")
        message = forged(server, server.annotations("shop")["grant"])
        assert "it was issued for another object" in message

    def test_another_clusters(self, server: Server) -> None:
        token = issue(a_stamp(cluster="staging", version="102"), RING, NOW)
        assert "it was issued in another cluster" in forged(server, token)

    def test_another_persons(self, server: Server) -> None:
        version = server.objects["web"]["metadata"]["resourceVersion"]
        token = issue(a_stamp(version=version), RING, NOW)
        assert "it was issued to somebody else" in forged(server, token, OUTSIDER)

    def test_one_that_expired_a_second_ago(self, server: Server) -> None:
        version = server.objects["web"]["metadata"]["resourceVersion"]
        expires = NOW - timedelta(seconds=1)
        token = issue(a_stamp(version=version, start=NOW, expires=expires), RING, NOW)
        assert "it has expired" in forged(server, token)

    def test_an_edited_one(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        payload, key, mac = server.annotations()["grant"].split(".")
        assert "its signature does not fit" in forged(server, f"{payload[:-4]}AAAA.{key}.{mac}")

    def test_an_unknown_and_a_revoked_key(self, server: Server) -> None:
        version = server.objects["web"]["metadata"]["resourceVersion"]
        foreign = Ring([Key("20260202T000000Z", b"f" * 32, NOW)])
        token = issue(a_stamp(version=version), foreign, NOW)
        assert "its key is not known, or was revoked" in forged(server, token)

    def test_plain_nonsense(self, server: Server) -> None:
        assert "it is no token of three parts" in forged(server, "let me in")

    def test_a_replay_after_closing(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        token = server.annotations()["grant"]
        server.annotate(RESPONDER, reason=None)
        assert "it was issued for another write" in forged(server, token)

    def test_a_longer_life_by_hand(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.up = False
        assert "the request was not stamped" in refused(server.annotate(RESPONDER, ttl="4h"))

    def test_a_change_of_the_ticket_by_hand(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.up = False
        assert "not stamped" in refused(server.annotate(RESPONDER, ticket="INC-1"))

    def test_a_revoked_key_ends_what_it_signed(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        assert server.live() is not None
        server.ring = Ring([Key("20260301T110000Z", b"n" * 32, NOW)])
        assert refused(server.update(RESPONDER, spec=MORE))

    def test_a_new_key_beside_the_old_one_changes_nothing(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.ring = Ring([KEY, Key("20260301T110000Z", b"n" * 32, NOW)])
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED

    def test_a_stamp_alone_without_the_webhooks_help(self, server: Server) -> None:
        """No reason is written, so nothing is asked: the hand on the stamp is all there is."""
        message = refused(server.annotate(OUTSIDER, grant="let me in"))
        assert "Stamps are Glasswarden's alone to write." in message

    def test_taking_a_stamp_off(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        token = server.annotations()["grant"]
        assert server.annotate(OUTSIDER, grant=None).allowed
        assert server.annotations()["grant"] == token
        server.up = False
        message = refused(server.annotate(OUTSIDER, grant=None))
        assert "a grant is ended by removing its reason" in message

    def test_a_forged_request_and_approval(self, server: Server) -> None:
        message = refused(server.annotate(OUTSIDER, request="x:y", approval="pending"))
        assert "its request does not count" in message
        assert "is not for people to write" in refused(server.annotate(LEAD, approval="granted"))

    def test_a_request_copied_from_another_object(self, server: Server) -> None:
        server.annotate(DEVELOPER, ASK_CHANGE, "api")
        copied = {key: server.annotations("api")[key] for key in ("request", "approval")}
        server.up = False
        message = refused(server.annotate(DEVELOPER, ASK_CHANGE, **copied))
        assert "its request was not made in this write" in message

    @pytest.mark.parametrize("mode", ["warn", "audit"])
    def test_no_mode_lets_one_in(self, mode: str) -> None:
        server = a_server(a_policy(f"mode: {mode}\n{POLICY}"))
        assert "its stamp does not count" in refused(server.annotate(OUTSIDER, grant="x"))

    def test_who_may_detach_may_not(self) -> None:
        server = a_server(a_policy(f"detach: {{users: [outsider]}}\n{POLICY}"))
        assert "its stamp does not count" in refused(server.annotate(OUTSIDER, grant="x"))

    def test_a_field_manager_that_is_delegated_to_does_not_help(self) -> None:
        policy = "delegations: [{name: x, managers: [x], fields: [/spec/a]}]"
        server = a_server(a_policy(f"{policy}\n{POLICY}"))
        assert refused(server.update(OUTSIDER, texts={"grant": "x"}, manager="x"))

    def test_git_brings_none_in(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        texts = dict(server.annotations())
        server.annotate(RESPONDER, reason=None)
        assert server.update(FLUX_CONTROLLER, texts=texts, spec=MORE).allowed
        assert server.live() is None
        assert "grant" not in server.annotations()

    def test_git_brings_none_in_while_the_webhook_is_away(self, server: Server) -> None:
        """What it applies is its own, and the webhook's stamps are nobody's."""
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

    def test_nor_by_a_plain_update(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        texts = dict(server.annotations())
        server.annotate(RESPONDER, reason=None)
        server.up = False
        server.update(FLUX_CONTROLLER, texts=texts, manager="argocd-controller")
        assert server.live() is None
        assert refused(server.update(RESPONDER, spec=MORE))

    @pytest.mark.parametrize("manager", ["kubectl-annotate", "applier"])
    def test_nobody_makes_the_next_one_theirs(self, server: Server, manager: str) -> None:
        """The webhook clears away what is over, and with it what somebody wrote in its place."""
        server.annotate(RESPONDER, ASK)
        server.pass_(hours=2)
        texts = {"grant": "x", "reason": None}
        message = refused(server.update(OUTSIDER, texts=texts, manager=manager))
        assert "its stamp would not count" in message

    def test_nor_by_a_client_side_apply(self, server: Server) -> None:
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

    def test_nor_is_it_put_back_while_a_request_waits(self, server: Server) -> None:
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

    def test_nor_by_wiping_whose_it_is(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        texts = dict(server.annotations())
        server.annotate(RESPONDER, reason=None)
        server.up = False
        server.update(FLUX_CONTROLLER, texts=texts, manager=KUSTOMIZE)
        assert "it was issued for another write" in refused(server.disown(RESPONDER))
        server.up = True
        assert server.disown(RESPONDER).allowed
        assert server.annotations() == {}

    def test_nobody_makes_it_theirs_and_so_ends_it(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        texts = {"grant": server.annotations()["grant"]}
        message = refused(server.update(OUTSIDER, texts=texts, manager="applier"))
        assert "its stamp would not count: it was applied" in message
        assert server.live() is not None
