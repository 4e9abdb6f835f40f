"""Break-glass is judged by its own rules: on what is being deleted, in every mode, by a restart."""

from typing import Any

import pytest

from glasswarden.policy.breakglass.tokens import Act
from glasswarden.policy.decision import Clause
from tests.policy.breakglass.builders import OUTSIDER, RESPONDER
from tests.policy.builders import a_policy
from tests.webhook.model import Server, a_server
from tests.webhook.test_breakglass import ASK, MORE, POLICY, granted, refused

RESTART: dict[str, Any] = {
    "template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}
}
LENIENT = ("warn", "audit")


@pytest.fixture
def server() -> Server:
    return a_server(a_policy(POLICY))


def closed_while_away(server: Server, name: str = "web") -> None:
    """Leave a stamp without its reason behind: the mutating webhook was not there to clear up."""
    server.annotate(RESPONDER, ASK, name)
    server.up = False
    assert granted(server.annotate(RESPONDER, name=name, reason=None)) is Act.CLOSED
    server.up = True


class TestTerminating:
    @pytest.mark.parametrize("name", ["web", "shop"])
    def test_a_replay_is_a_forgery_there_too(self, server: Server, name: str) -> None:
        server.annotate(RESPONDER, ASK, name)
        stood = server.annotations(name)
        server.annotate(RESPONDER, name=name, reason=None)
        server.terminate(name)
        server.up = False
        message = refused(server.annotate(RESPONDER, stood, name))
        assert "its stamp does not count: it was issued for another write" in message
        assert server.live(name) is None

    def test_what_is_asked_there_is_judged_and_recorded(self, server: Server) -> None:
        server.terminate()
        decision = server.annotate(RESPONDER, ASK)
        assert granted(decision) is Act.ISSUED
        assert decision.recorded
        assert "no rule lets outsider" in refused(server.annotate(OUTSIDER, ASK, ttl="2h"))

    def test_what_is_left_of_a_grant_stands_in_nobodys_way(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(hours=2)
        server.terminate()
        assert server.annotate(OUTSIDER).allowed
        assert server.annotations() == {}


class TestModes:
    @pytest.mark.parametrize("mode", LENIENT)
    @pytest.mark.parametrize("name", ["web", "shop"])
    def test_no_mode_stores_a_request_that_is_refused(self, mode: str, name: str) -> None:
        server = a_server(a_policy(f"mode: {mode}\n{POLICY}"))
        assert "no rule lets outsider" in refused(server.annotate(OUTSIDER, ASK, name))
        assert server.annotations(name) == {}

    @pytest.mark.parametrize("mode", LENIENT)
    @pytest.mark.parametrize("name", ["web", "shop"])
    def test_no_mode_lets_a_stranger_end_a_grant(self, mode: str, name: str) -> None:
        server = a_server(a_policy(f"mode: {mode}\n{POLICY}"))
        server.annotate(RESPONDER, ASK, name)
        assert "may not end" in refused(server.annotate(OUTSIDER, name=name, reason=None))
        assert server.live(name) is not None

    @pytest.mark.parametrize("mode", LENIENT)
    def test_no_mode_revives_what_was_closed(self, mode: str) -> None:
        server = a_server(a_policy(f"mode: {mode}\n{POLICY}"))
        closed_while_away(server)
        assert refused(server.annotate(OUTSIDER, reason="any reason will do"))
        assert server.live() is None

    def test_nor_with_a_change_of_ownership_marks(self) -> None:
        server = a_server(a_policy(f"mode: warn\n{POLICY}"))
        mark = {"kustomize.toolkit.fluxcd.io/name": "mine"}
        assert refused(server.update(RESPONDER, texts=ASK, labels=mark))
        assert server.live() is None

    def test_a_dry_run_is_only_told(self) -> None:
        server = a_server(a_policy(f"mode: audit\n{POLICY}"))
        decision = server.update(OUTSIDER, texts=ASK, dry_run=True)
        assert decision.allowed
        assert any("no rule lets outsider" in line for line in decision.warnings)

    def test_a_direct_write_follows_the_mode_as_ever(self) -> None:
        server = a_server(a_policy(f"mode: audit\n{POLICY}"))
        assert server.update(OUTSIDER, spec=MORE).clause is Clause.GUARD
        assert server.objects["web"]["spec"]["replicas"] == 5


class TestHarmlessOperations:
    """A restart is allowed to everybody; what comes with it is not."""

    def test_a_request_with_a_restart_is_a_request(self, server: Server) -> None:
        assert granted(server.update(RESPONDER, texts=ASK, spec=RESTART)) is Act.ISSUED
        assert "no rule lets outsider" in refused(
            server.update(OUTSIDER, texts={**ASK, "ttl": "2h"}, spec={"template": {}} | RESTART)
        )

    def test_nobody_ends_a_grant_with_one(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        assert refused(server.update(OUTSIDER, texts={"reason": None}, spec=RESTART))
        assert server.live() is not None

    def test_nobody_revives_one_with_it(self, server: Server) -> None:
        closed_while_away(server)
        server.up = False
        assert refused(server.update(OUTSIDER, texts=ASK, spec=RESTART))
        assert server.live() is None

    def test_alone_it_is_harmless(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        assert server.update(OUTSIDER, spec=RESTART).clause is Clause.BENIGN
