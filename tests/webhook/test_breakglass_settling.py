"""What became of the changes can be said after a grant has ended, and is recorded."""

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
def test_beside_the_stamp_of_a_grant_that_ran_out(server: Server, name: str) -> None:
    grant = expired(server, name)
    decision = server.annotate(RESPONDER, {**CLOSE, "outcome": "delegated"}, name)
    assert settled(decision) == (grant, "delegated")
    assert server.annotations(name) == {"outcome": "delegated"}


def test_the_reason_may_stay(server: Server) -> None:
    grant = expired(server)
    assert settled(server.annotate(RESPONDER, outcome="backported")) == (grant, "backported")


def test_by_its_id_where_nothing_is_left_of_it(server: Server) -> None:
    grant = expired(server)
    server.update(FLUX_CONTROLLER, spec={"x": 1})
    assert server.annotations() == {}
    message = refused(server.annotate(RESPONDER, outcome="delegated"))
    assert "breakglass.glasswarden.io/outcome=delegated:ID" in message
    decision = server.annotate(RESPONDER, outcome=f"delegated:{grant}")
    assert settled(decision) == (grant, "delegated")


def test_after_an_early_end(server: Server) -> None:
    server.update(RESPONDER, texts=ASK, spec=MORE)
    live = server.live()
    assert live is not None
    server.annotate(RESPONDER, reason=None)
    assert settled(server.annotate(SECOND, outcome=f"reverted:{live.id}")) == (live.id, "reverted")


def test_an_outcome_is_one_of_three_then_too(server: Server) -> None:
    expired(server)
    message = refused(server.annotate(RESPONDER, outcome="nonsense"))
    assert "'nonsense' is none of backported, delegated, reverted" in message


def test_it_is_for_those_who_may_break_the_glass(server: Server) -> None:
    grant = expired(server)
    for outcome in ("delegated", f"delegated:{grant}"):
        message = refused(server.annotate(OUTSIDER, outcome=outcome))
        assert "outsider may not settle a grant that was not theirs; who may: " in message


def test_nothing_else_changes_with_it(server: Server) -> None:
    expired(server)
    assert refused(server.update(RESPONDER, texts={"outcome": "reverted"}, spec={"replicas": 9}))


def test_a_grant_on_the_namespace_is_settled_there(server: Server) -> None:
    expired(server, "shop")
    assert "say there what became" in refused(server.annotate(RESPONDER, outcome="reverted"))


def test_an_outcome_ahead_of_the_end_settles_nothing_yet(server: Server) -> None:
    server.annotate(RESPONDER, ASK)
    assert server.annotate(RESPONDER, outcome="delegated").allowed
    decision = server.annotate(RESPONDER, reason=None)
    assert granted(decision) is Act.CLOSED
    assert decision.grant is not None
    assert decision.grant.outcome == "delegated"


def test_without_the_mutating_webhook_too(server: Server) -> None:
    grant = expired(server)
    server.up = False
    assert settled(server.annotate(RESPONDER, {**CLOSE, "outcome": "reverted"})) == (
        grant,
        "reverted",
    )
