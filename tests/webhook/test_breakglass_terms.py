"""What the rules require of a grant, at the request and at every use."""

from dataclasses import replace

import pytest

from glasswarden.policy.breakglass.tokens import Act
from tests.policy.breakglass.builders import LEAD, OUTSIDER, RESPONDER, SECOND
from tests.policy.builders import DEVELOPER, NOW, a_policy
from tests.webhook.model import Server, a_server
from tests.webhook.test_breakglass import ASK, ASK_CHANGE, MORE, POLICY, granted, refused


def ruled(*rules: str) -> Server:
    """Return a server whose break-glass rules are *rules*, each a YAML mapping."""
    listed = "\n".join(f"    - {rule}" for rule in rules)
    return a_server(a_policy(f"breakGlass:\n  rules:\n{listed}\n"))


def approved(server: Server, name: str = "web") -> str:
    """Return the id of the request that waits on an object."""
    return server.annotations(name)["request"].partition(":")[0]


REST = "{name: rest, groups: [responders]}"
STRICTER = {
    "fields": ("closed: [/spec/replicas]", "/spec/replicas stays closed even under a grant"),
    "kinds": ("closedKinds: [apps/*]", "objects of kind Deployment stay closed"),
    "operations": ("operations: [scale]", "a grant covers scale, and no update"),
    "approval": ("approval: {groups: [leads]}", "a second person approves first"),
    "time": ("ttl: {default: 10m, longest: 30m}", "a grant lives at most 30m"),
    "ticket": ("ticket: 'PAY-[0-9]+'", "the ticket 'INC-42' does not match PAY-[0-9]+"),
    "reason": ("reasonLength: 99", "a reason has at least 99 characters"),
    "no Namespaces": ("namespaceWide: false", "a grant on a Namespace does not count"),
}


class TestFirstRuleForAnObject:
    """It applies under a grant on the Namespace too, which another rule gave."""

    @pytest.mark.parametrize(("term", "why"), STRICTER.values(), ids=STRICTER)
    def test_write_that_the_first_rule_would_not_grant_is_denied(self, term: str, why: str) -> None:
        server = ruled(f"{{name: pay, groups: [responders], kinds: [Deployment], {term}}}", REST)
        assert granted(server.annotate(RESPONDER, ASK, "shop")) is Act.ISSUED
        message = refused(server.update(RESPONDER, spec=MORE))
        assert f"by rule 'pay', which comes first for this object, {why}" in message
        assert "break the glass on the object itself" in message

    def test_write_that_the_first_rule_would_grant_is_allowed(self) -> None:
        server = ruled("{name: pay, groups: [responders], kinds: [Deployment]}", REST)
        server.annotate(RESPONDER, ASK, "shop")
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED
        assert granted(server.scale(RESPONDER, 9)) is Act.USED

    def test_rule_for_other_people_does_not_apply(self) -> None:
        server = ruled("{name: pay, groups: [leads], closed: [/spec/replicas]}", REST)
        server.annotate(RESPONDER, ASK, "shop")
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED

    def test_hours_of_the_rules_are_those_of_the_start_of_the_grant(self) -> None:
        """NOW is a Sunday at noon; an hour later the stricter rule is in force."""
        hours = 'hours: {days: [sun], from: "13:00", to: "20:00"}'
        kinds = "kinds: [Deployment], operations: [scale]"
        server = ruled(f"{{name: later, groups: [responders], {kinds}, {hours}}}", REST)
        server.annotate(RESPONDER, ASK, "shop", ttl="3h")
        server.pass_(hours=2)
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED


TIGHTENED = {
    "its people": ("groups: [responders]", "groups: [leads]", "responder may not break the glass"),
    "its time": ("longest: 4h", "longest: 30m", "a grant lives at most 30m: this one ended at"),
    "its operations": ("closed:", "operations: [scale]\n      closed:", "a grant covers scale"),
    "its fields": ("[/spec/serviceAccountName]", "[/spec/replicas]", "/spec/replicas stays closed"),
    "its kinds": ("closed:", "closedKinds: [Deployment]\n      closed:", "of kind Deployment stay"),
    "its approval": ("closed:", "approval: {groups: [leads]}\n      closed:", "approves first"),
}


class TestTightenedRule:
    @pytest.mark.parametrize(("old", "new", "why"), TIGHTENED.values(), ids=TIGHTENED)
    @pytest.mark.parametrize("name", ["web", "shop"])
    def test_tightened_rule_ends_grants_that_it_would_not_give(
        self, old: str, new: str, why: str, name: str
    ) -> None:
        server = a_server(a_policy(POLICY))
        server.annotate(RESPONDER, ASK, name)
        server.pass_(minutes=30)
        server.policy = a_policy(POLICY.replace(old, new, 1))
        message = refused(server.update(RESPONDER, spec=MORE))
        assert "by rule 'responders', " in message
        assert why in message

    def test_grant_is_no_longer_shared_when_the_rule_stops_sharing(self) -> None:
        shared = POLICY.replace("closed:", "shared: true\n      closed:", 1)
        server = a_server(a_policy(shared))
        server.annotate(RESPONDER, ASK)
        assert granted(server.update(SECOND, spec=MORE)) is Act.USED
        server.policy = a_policy(POLICY)
        assert "this one is responder's" in refused(server.update(SECOND, spec={"replicas": 6}))

    def test_request_after_a_tightened_rule_issues_a_new_grant(self) -> None:
        server = a_server(a_policy(POLICY))
        server.annotate(RESPONDER, ASK)
        server.pass_(minutes=40)
        server.policy = a_policy(POLICY.replace("longest: 4h", "longest: 30m", 1))
        assert granted(server.annotate(RESPONDER, ttl="20m")) is Act.ISSUED
        assert granted(server.update(RESPONDER, spec=MORE)) is Act.USED


class TestLimits:
    RULE = "{name: d, groups: [developers], approval: {groups: [leads]}, mostOpen: {%s: 1}}"

    @pytest.mark.parametrize("whose", ["person", "namespace"])
    def test_approval_beyond_the_limit_of_the_requester_is_denied(self, whose: str) -> None:
        server = ruled(self.RULE % whose)
        for name in ("web", "api"):
            assert granted(server.annotate(DEVELOPER, ASK_CHANGE, name)) is Act.REQUESTED
        assert granted(server.annotate(LEAD, approve=approved(server))) is Act.APPROVED
        message = refused(server.annotate(LEAD, name="api", approve=approved(server, "api")))
        assert "by rule 'd', " in message
        assert "at most 1 grants open at once" in message
        server.annotate(DEVELOPER, reason=None)
        again = server.annotate(LEAD, name="api", approve=approved(server, "api"))
        assert granted(again) is Act.APPROVED

    def test_open_grants_of_the_approver_do_not_count(self) -> None:
        server = ruled("{name: l, groups: [leads]}", self.RULE % "person")
        server.annotate(LEAD, ASK, "api")
        server.annotate(DEVELOPER, ASK_CHANGE)
        assert granted(server.annotate(LEAD, approve=approved(server))) is Act.APPROVED


class TestDenialMessages:
    def test_denial_out_of_hours_names_the_rule_and_its_hours(self) -> None:
        hours = 'hours: {days: [sat, mon], from: "09:00", to: "10:00", timezone: Europe/Berlin}'
        server = ruled(f"{{name: day, groups: [responders], {hours}}}")
        when = "on mon, sat from 09:00 to 10:00 Europe/Berlin"
        said = f"Break-glass: by rule 'day', responder may break the glass {when}."
        for decision in (server.annotate(RESPONDER, ASK), server.update(RESPONDER, spec=MORE)):
            message = refused(decision)
            assert said in message
            assert "Who may" not in message
        assert "Who may break the glass here: group responders." in refused(
            server.update(OUTSIDER, spec=MORE)
        )

    def test_denial_names_hours_that_are_excluded(self) -> None:
        hours = 'hours: {days: [sun], from: "09:00", to: "17:00", outside: true}'
        server = ruled(f"{{name: night, groups: [responders], {hours}}}")
        assert "outside of sun from 09:00 to 17:00 UTC" in refused(server.annotate(RESPONDER, ASK))

    @pytest.mark.parametrize(
        ("rule", "why"),
        [
            ("closed: [/spec/replicas]", "/spec/replicas stays closed even under a grant"),
            ("closedKinds: [Deployment]", "objects of kind Deployment stay closed"),
            ("operations: [scale]", "a grant covers scale, and no update"),
        ],
    )
    def test_denial_of_what_no_grant_covers_shows_no_command(self, rule: str, why: str) -> None:
        server = ruled(f"{{name: r, groups: [responders], {rule}}}")
        message = refused(server.update(RESPONDER, spec=MORE))
        assert f"Break-glass: by rule 'r', {why}" in message
        assert "kubectl glasswarden break" not in message

    def test_denial_of_a_deletion_names_the_covered_operations(self) -> None:
        message = refused(ruled(REST).delete(RESPONDER))
        assert "by rule 'rest', a grant covers update, scale, and no delete." in message

    def test_request_on_a_closed_kind_is_denied(self) -> None:
        server = ruled("{name: r, groups: [responders], closedKinds: [apps/Deployment]}")
        message = refused(server.annotate(RESPONDER, ASK))
        assert "by rule 'r', objects of kind Deployment stay closed" in message
        assert granted(server.annotate(RESPONDER, ASK, "shop")) is Act.ISSUED

    def test_denial_of_a_ttl_names_the_possible_range(self) -> None:
        server = a_server(a_policy(POLICY))
        server.annotate(RESPONDER, ASK)
        server.pass_(minutes=50)
        message = refused(server.annotate(RESPONDER, ttl="50m"))
        assert "by rule 'responders', a ttl of 50m is over" in message
        assert "more than 50m, at most 4h passes" in message

    def test_denial_of_an_approval_names_the_approvers(self) -> None:
        server = a_server(a_policy(POLICY))
        server.annotate(DEVELOPER, ASK_CHANGE)
        message = refused(server.annotate(OUTSIDER, approve=approved(server)))
        assert "by rule 'developers', outsider is none of the approvers: group leads." in message
        assert "Who may break" not in message

    def test_denial_of_closing_names_who_may_close(self) -> None:
        server = a_server(a_policy(POLICY))
        server.annotate(RESPONDER, ASK)
        message = refused(server.annotate(OUTSIDER, reason=None))
        assert "who may: responder, group responders, group developers." in message

    def test_denial_names_another_account_of_the_same_name(self) -> None:
        server = a_server(a_policy(POLICY))
        server.annotate(RESPONDER, ASK)
        message = refused(server.update(replace(RESPONDER, uid="new"), spec=MORE))
        assert "is that of another account called responder, with another uid" in message


def test_grant_can_be_closed_out_of_hours() -> None:
    hours = 'hours: {days: [sun], from: "09:00", to: "12:30"}'
    server = ruled(f"{{name: day, groups: [responders], {hours}}}")
    server.annotate(RESPONDER, ASK)
    server.pass_(minutes=45)
    assert NOW.weekday() == 6
    assert granted(server.annotate(SECOND, reason=None)) is Act.CLOSED
