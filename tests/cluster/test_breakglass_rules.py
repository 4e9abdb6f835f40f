"""Every rule of break-glass with real kubectl on the real API server, and every forged token."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from glasswarden.policy.breakglass.annotations import decode_unverified
from glasswarden.policy.breakglass.tokens import Stamp
from glasswarden.policy.document import Day
from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding
from tests.cluster.kubectl import Caller, Result
from tests.cluster.retries import eventually
from tests.cluster.test_breakglass import ASK, PREFIX, Web, done, refused

ANOTHER_DAY = list(Day)[(datetime.now(UTC) + timedelta(days=3)).weekday()]
POLICY = f"""
breakGlass:
  rules:
    - name: by-day
      groups: [oncall]
      names: [by-day]
      hours: {{days: [{ANOTHER_DAY}], from: "09:00", to: "10:00"}}
    - {{name: by-kind, groups: [oncall], names: [by-kind], kinds: [apps/StatefulSet]}}
    - {{name: by-label, groups: [oncall], names: ["label-*"], labels: {{tier: front}}}}
    - {{name: by-app, groups: [oncall], names: ["app-*"], applications: [flux-system/pay]}}
    - {{name: by-group, groups: [developers], names: [shared], shared: true}}
    - {{name: few, groups: [oncall], names: ["few-*"], mostOpen: {{namespace: 1}}}}
    - {{name: soon, groups: [developers], names: [soon], approval: {{groups: [leads], within: 2s}}}}
    - name: approved
      groups: [developers]
      names: ["approved-*"]
      approval: {{groups: [leads]}}
      mostOpen: {{namespace: 1}}
    - {{name: careful, groups: [oncall], names: [careful], closed: [/spec/replicas]}}
    - {{name: closed-kind, groups: [oncall], names: [kind-*], closedKinds: [apps/*]}}
    - {{name: responders, groups: [oncall], names: [web, careful, "test-*"]}}
"""


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("rules"), POLICY) as running:
        yield running


Make = Callable[..., Web]


@pytest.fixture
def make(guard: Guard, flux_account: Caller, namespace: str) -> Make:
    """Return what makes one of Flux's Deployments, with both of our webhooks in place."""

    def made(name: str, app: str = "shop", **labels: str) -> Web:
        manifest = by_flux(deployment(name, namespace), app)
        manifest["metadata"]["labels"] |= labels
        flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
        return on(name)

    def on(name: str) -> Web:
        web = Web(guard.cluster, namespace)
        web.target = f"deployment/{name}"
        return web

    trial = made("web")
    eventually(
        lambda: trial.annotate("responder", "--dry-run=server", **ASK).returncode == 0,
        "the mutating webhook's registration",
    )
    return made


def labelled(web: Web, person: str, value: str) -> Result:
    """Change a label of the object, which takes a grant."""
    return web.kubectl(person, "label", web.target, f"example.com/x={value}", "--overwrite")


def request_id(web: Web) -> str:
    return web.annotations["request"].partition(":")[0]


def stamp_on(web: Web) -> Stamp:
    found = decode_unverified(web.annotations["grant"], Stamp)
    assert found is not None
    return found


def test_rule_denies_outside_of_its_hours(make: Make) -> None:
    when = f"by rule 'by-day', responder may break the glass on {ANOTHER_DAY} from 09:00 to 10:00"
    web = make("by-day")
    assert when in refused(web.annotate("responder", **ASK))
    assert when in refused(labelled(web, "responder", "1"))


@pytest.mark.parametrize("name", ["by-kind", "label-web", "app-web"])
def test_rule_does_not_cover_objects_outside_its_selectors(make: Make, name: str) -> None:
    message = refused(make(name).annotate("responder", **ASK))
    assert "no rule lets responder break the glass here" in message


def test_rule_covers_objects_by_label(make: Make) -> None:
    web = make("label-web", tier="front")
    done(web.annotate("responder", **ASK))
    done(labelled(web, "responder", "1"))


def test_rule_covers_objects_by_application(make: Make) -> None:
    web = make("app-web", app="pay")
    done(web.annotate("responder", **ASK))
    done(labelled(web, "responder", "1"))


def test_closed_kind_is_denied_without_a_break_command(make: Make) -> None:
    web = make("kind-web")
    why = "by rule 'closed-kind', objects of kind Deployment stay closed"
    assert why in refused(web.annotate("responder", **ASK))
    message = refused(labelled(web, "responder", "1"))
    assert why in message
    assert "glasswarden break" not in message


def test_shared_grant_covers_the_group_and_nobody_else(make: Make) -> None:
    web = make("shared")
    done(web.annotate("developer", **ASK))
    done(labelled(web, "lead", "1"))
    assert "is developer's" in refused(labelled(web, "outsider", "2"))
    message = refused(web.annotate("lead", ttl="2h"))
    assert "gives a reason of their own: this one is developer's" in message


def test_limit_of_open_grants_denies_a_request(make: Make) -> None:
    one, other = make("few-1"), make("few-2")
    done(one.annotate("responder", **ASK))
    message = refused(other.annotate("responder", **ASK))
    assert "by rule 'few', a namespace has at most 1 grants open at once" in message
    done(one.annotate("responder", reason=None))
    done(other.annotate("responder", **ASK))


def test_limit_of_open_grants_denies_an_approval(make: Make) -> None:
    one, other = make("approved-1"), make("approved-2")
    for web in (one, other):
        done(web.annotate("developer", **ASK))
    done(one.annotate("lead", approve=request_id(one)))
    message = refused(other.annotate("lead", approve=request_id(other)))
    assert "by rule 'approved', a namespace has at most 1 grants open at once" in message


def test_late_approval_is_denied(make: Make) -> None:
    web = make("soon")
    done(web.annotate("developer", **ASK))
    request = request_id(web)
    time.sleep(2.1)
    assert "it waited too long: ask again" in refused(web.annotate("lead", approve=request))


def posing(web: Web, name: str, group: str, *more: str, **texts: str) -> Result:
    """Annotate as somebody whom the admin, like a proxy, poses as."""
    posed = (f"--as={name}", f"--as-group={group}", "--as-group=developers", *more)
    return web.annotate("admin", *posed, **texts)


def test_approval_by_the_requester_under_another_name_is_denied(make: Make) -> None:
    web = make("approved-1")
    done(posing(web, "boss", "developers", "--as-uid=5ea1", **ASK))
    request = request_id(web)
    for name, more in (
        ("boss", ()),
        ("boss-admin", ("--as-uid=5ea1",)),
        ("lead", ("--as-user-extra=example.com/person=boss",)),
    ):
        message = refused(posing(web, name, "leads", *more, approve=request))
        assert "by rule 'approved', somebody else approves, not boss" in message
    done(posing(web, "lead", "leads", approve=request))


def test_grant_covers_no_write_after_its_expiry(make: Make) -> None:
    web = make("web")
    done(web.annotate("responder", **ASK | {"ttl": "4s"}))
    done(web.scale("responder", 4))
    time.sleep(max(0.0, (stamp_on(web).expires - datetime.now(UTC)).total_seconds()) + 0.01)
    for late in (
        web.scale("responder", 5),
        web.image("responder", "2"),
        labelled(web, "responder", "1"),
        web.kubectl("responder", "delete", "deployment/web"),
    ):
        assert "the grant for INC-42 expired at" in refused(late)


def test_token_with_an_edited_ticket_is_rejected(make: Make) -> None:
    web = make("web")
    done(web.annotate("responder", **ASK))
    payload, key, mac = web.annotations["grant"].split(".")
    content = json.loads(base64.urlsafe_b64decode(payload)) | {"ticket": "INC-43"}
    edited = base64.urlsafe_b64encode(json.dumps(content).encode()).decode()
    message = refused(web.annotate("responder", grant=f"{edited}.{key}.{mac}"))
    assert "its signature does not fit its content" in message


def test_token_of_another_person_is_rejected(make: Make) -> None:
    web = make("web")
    shown = web.annotate("responder", "--dry-run=server", "-o", "json", **ASK).json()
    token = shown["metadata"]["annotations"][f"{PREFIX}grant"]
    assert "it was issued to somebody else" in refused(web.annotate("developer", grant=token))


def test_token_of_another_object_is_rejected(make: Make) -> None:
    web, other = make("web"), make("careful")
    done(web.annotate("responder", **ASK))
    token = web.annotations["grant"]
    assert "issued for another object" in refused(other.annotate("responder", grant=token))


class TestNamespaceGrants:
    def test_first_rule_for_an_object_applies(self, make: Make, namespace: str) -> None:
        web, careful = make("web"), make("careful")
        on_namespace(web, namespace, "1h")
        done(web.scale("responder", 4))
        place = ("-n", namespace)
        message = refused(careful.kubectl("responder", "scale", careful.target, "--replicas=4"))
        assert "by rule 'careful', which comes first for this object, /spec/replicas" in message
        found = web.cluster.get("deployment/careful", *place)
        assert found["spec"]["replicas"] == 3

    def test_expired_grant_covers_no_write(self, make: Make, namespace: str) -> None:
        web = make("web")
        on_namespace(web, namespace, "5s")
        done(web.image("responder", "2"))
        time.sleep(5.1)
        for late in (web.image("responder", "3"), web.scale("responder", 5)):
            assert "the grant for INC-42 expired at" in refused(late)

    def test_prune_of_a_scaled_object_is_held(
        self, make: Make, flux_account: Caller, namespace: str
    ) -> None:
        web, other = make("web"), make("careful")
        on_namespace(web, namespace, "1h")
        done(web.scale("responder", 4))
        prune = ("delete", "-n", namespace, "--wait=false")
        held = flux_account.kubectl(*prune, web.target, check=False)
        assert "is held until" in held.stderr
        done(flux_account.kubectl(*prune, other.target, check=False))


def on_namespace(web: Web, namespace: str, ttl: str) -> None:
    """Break the glass on the whole namespace."""
    whole = Web(web.cluster, namespace)
    whole.target = f"namespace/{namespace}"
    done(whole.annotate("responder", **ASK | {"ttl": ttl}))
