"""Break-glass has its own rules: on terminating objects, in every mode, with a restart."""

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
    def test_replayed_stamp_on_a_terminating_object_is_denied(
        self, server: Server, name: str
    ) -> None:
        server.annotate(RESPONDER, ASK, name)
        stood = server.annotations(name)
        server.annotate(RESPONDER, name=name, reason=None)
        server.terminate(name)
        server.up = False
        message = refused(server.annotate(RESPONDER, stood, name))
        assert "its stamp does not count: it was issued for another write" in message
        assert server.live(name) is None

    def test_request_on_a_terminating_object_is_decided_and_recorded(self, server: Server) -> None:
        server.terminate()
        decision = server.annotate(RESPONDER, ASK)
        assert granted(decision) is Act.ISSUED
        assert decision.recorded
        assert "no rule lets outsider" in refused(server.annotate(OUTSIDER, ASK, ttl="2h"))

    def test_expired_grant_on_a_terminating_object_is_removed(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        server.pass_(hours=2)
        server.terminate()
        assert server.annotate(OUTSIDER).allowed
        assert server.annotations() == {}


class TestModes:
    @pytest.mark.parametrize("mode", LENIENT)
    @pytest.mark.parametrize("name", ["web", "shop"])
    def test_request_without_a_rule_is_denied_in_every_mode(self, mode: str, name: str) -> None:
        server = a_server(a_policy(f"mode: {mode}\n{POLICY}"))
        assert "no rule lets outsider" in refused(server.annotate(OUTSIDER, ASK, name))
        assert server.annotations(name) == {}

    @pytest.mark.parametrize("mode", LENIENT)
    @pytest.mark.parametrize("name", ["web", "shop"])
    def test_closing_by_an_unauthorized_user_is_denied_in_every_mode(
        self, mode: str, name: str
    ) -> None:
        server = a_server(a_policy(f"mode: {mode}\n{POLICY}"))
        server.annotate(RESPONDER, ASK, name)
        assert "may not end" in refused(server.annotate(OUTSIDER, name=name, reason=None))
        assert server.live(name) is not None

    @pytest.mark.parametrize("mode", LENIENT)
    def test_closed_grant_cannot_be_revived_in_any_mode(self, mode: str) -> None:
        server = a_server(a_policy(f"mode: {mode}\n{POLICY}"))
        closed_while_away(server)
        assert refused(server.annotate(OUTSIDER, reason="any reason will do"))
        assert server.live() is None

    def test_request_with_a_change_of_marks_is_denied_in_mode_warn(self) -> None:
        server = a_server(a_policy(f"mode: warn\n{POLICY}"))
        mark = {"kustomize.toolkit.fluxcd.io/name": "mine"}
        assert refused(server.update(RESPONDER, texts=ASK, labels=mark))
        assert server.live() is None

    def test_denied_request_is_only_warned_on_dry_run(self) -> None:
        server = a_server(a_policy(f"mode: audit\n{POLICY}"))
        decision = server.update(OUTSIDER, texts=ASK, dry_run=True)
        assert decision.allowed
        assert any("no rule lets outsider" in line for line in decision.warnings)

    def test_direct_write_follows_the_mode(self) -> None:
        server = a_server(a_policy(f"mode: audit\n{POLICY}"))
        assert server.update(OUTSIDER, spec=MORE).clause is Clause.GUARD
        assert server.objects["web"]["spec"]["replicas"] == 5


class TestBenignOperations:
    """A restart is allowed to everybody; break-glass annotations with it are not."""

    def test_request_with_a_restart_is_decided_as_a_request(self, server: Server) -> None:
        assert granted(server.update(RESPONDER, texts=ASK, spec=RESTART)) is Act.ISSUED
        assert "no rule lets outsider" in refused(
            server.update(OUTSIDER, texts={**ASK, "ttl": "2h"}, spec={"template": {}} | RESTART)
        )

    def test_grant_cannot_be_closed_with_a_restart(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        assert refused(server.update(OUTSIDER, texts={"reason": None}, spec=RESTART))
        assert server.live() is not None

    def test_closed_grant_cannot_be_revived_with_a_restart(self, server: Server) -> None:
        closed_while_away(server)
        server.up = False
        assert refused(server.update(OUTSIDER, texts=ASK, spec=RESTART))
        assert server.live() is None

    def test_restart_alone_is_benign_under_a_grant(self, server: Server) -> None:
        server.annotate(RESPONDER, ASK)
        assert server.update(OUTSIDER, spec=RESTART).clause is Clause.BENIGN
