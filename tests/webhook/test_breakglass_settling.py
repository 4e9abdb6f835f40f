"""The outcome of a grant can be set after it has ended, and is recorded."""

import pytest

from glasswarden.policy.breakglass.tokens import Act
from tests.policy.breakglass.builders import OUTSIDER, RESPONDER, SECOND
from tests.policy.builders import FLUX_CONTROLLER, Answered, a_policy
from tests.webhook.model import Server, a_server
from tests.webhook.test_breakglass import ASK, MORE, POLICY, granted, refused

CLOSE: dict[str, str | None] = {"reason": None, "ticket": None, "ttl": None}


@pytest.fixture
def server() -> Server:
    return a_server(a_policy(POLICY))


def expired(server: Server, name: str = "web") -> str:
    """Let a grant run out under which something was changed; return its id."""
    server.annotate(RESPONDER, ASK, name)
    server.update(RESPONDER, spec=MORE)
    live = server.live(name)
    assert live is not None
    server.pass_(hours=2)
    return live.id


def settled(decision: Answered) -> tuple[str, str]:
    """Return of which grant what was recorded."""
    assert granted(decision) is Act.SETTLED
    assert decision.recorded
    assert decision.grant is not None
    return decision.grant.id, decision.grant.outcome


@pytest.mark.parametrize("name", ["web", "shop"])
def test_outcome_beside_an_expired_stamp_settles_the_grant(server: Server, name: str) -> None:
    grant = expired(server, name)
    decision = server.annotate(RESPONDER, {**CLOSE, "outcome": "delegated"}, name)
    assert settled(decision) == (grant, "delegated")
    assert server.annotations(name) == {"outcome": "delegated"}


def test_outcome_settles_the_grant_while_the_reason_stays(server: Server) -> None:
    grant = expired(server)
    assert settled(server.annotate(RESPONDER, outcome="backported")) == (grant, "backported")


def test_outcome_with_an_id_settles_a_grant_without_annotations(server: Server) -> None:
    grant = expired(server)
    server.update(FLUX_CONTROLLER, spec={"x": 1})
    assert server.annotations() == {}
    message = refused(server.annotate(RESPONDER, outcome="delegated"))
    assert "breakglass.glasswarden.io/outcome=delegated:ID" in message
    decision = server.annotate(RESPONDER, outcome=f"delegated:{grant}")
    assert settled(decision) == (grant, "delegated")


def test_outcome_with_an_id_settles_a_closed_grant(server: Server) -> None:
    server.update(RESPONDER, texts=ASK, spec=MORE)
    live = server.live()
    assert live is not None
    server.annotate(RESPONDER, reason=None)
    assert settled(server.annotate(SECOND, outcome=f"reverted:{live.id}")) == (live.id, "reverted")


def test_unknown_outcome_is_denied(server: Server) -> None:
    expired(server)
    message = refused(server.annotate(RESPONDER, outcome="nonsense"))
    assert "'nonsense' is none of backported, delegated, reverted" in message


def test_outcome_by_a_person_without_a_rule_is_denied(server: Server) -> None:
    grant = expired(server)
    for outcome in ("delegated", f"delegated:{grant}"):
        message = refused(server.annotate(OUTSIDER, outcome=outcome))
        assert "outsider may not settle a grant that was not theirs; who may: " in message


def test_outcome_with_another_change_is_denied(server: Server) -> None:
    expired(server)
    assert refused(server.update(RESPONDER, texts={"outcome": "reverted"}, spec={"replicas": 9}))


def test_outcome_of_a_namespace_grant_is_denied_on_its_objects(server: Server) -> None:
    expired(server, "shop")
    assert "say there what became" in refused(server.annotate(RESPONDER, outcome="reverted"))


def test_outcome_before_the_end_is_recorded_when_the_grant_is_closed(server: Server) -> None:
    server.annotate(RESPONDER, ASK)
    assert server.annotate(RESPONDER, outcome="delegated").allowed
    decision = server.annotate(RESPONDER, reason=None)
    assert granted(decision) is Act.CLOSED
    assert decision.grant is not None
    assert decision.grant.outcome == "delegated"


def test_outcome_settles_the_grant_without_the_mutating_webhook(server: Server) -> None:
    grant = expired(server)
    server.up = False
    assert settled(server.annotate(RESPONDER, {**CLOSE, "outcome": "reverted"})) == (
        grant,
        "reverted",
    )
