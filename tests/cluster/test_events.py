"""What `kubectl get events` shows of break-glass, with the rights that the manifests give."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding
from tests.cluster.kubectl import Caller, Result
from tests.cluster.retries import eventually

RIGHTS = Path(__file__).parents[2] / "manifests" / "base" / "rbac-webhook.yaml"
PREFIX = "breakglass.glasswarden.io/"
POLICY = """
breakGlass:
  rules:
    - {name: responders, groups: [oncall], ticket: "INC-[0-9]+"}
"""
ASK = {"reason": "checkout is down for everybody", "ticket": "INC-42", "ttl": "10m"}


@pytest.fixture(scope="module")
def account(cluster: ControlPlane) -> Iterator[Caller]:
    """Return the webhook's service account as the manifests make it."""
    account = cluster.service_account("glasswarden", "glasswarden-webhook", None)
    manifests = list(yaml.safe_load_all(RIGHTS.read_text()))
    rights = [each for each in manifests if each["kind"] != "ServiceAccount"]
    cluster.apply(rights)
    yield account
    cluster.as_("admin").kubectl("delete", "-f", "-", stdin=rights)


@pytest.fixture(scope="module")
def guard(
    cluster: ControlPlane, account: Caller, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("g"), POLICY, account=account) as running:
        yield running


class Web:
    """The Deployment web, what people do to it, and what is told of it."""

    def __init__(self, cluster: ControlPlane, flux: Caller, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        manifest = by_flux(deployment("web", namespace), "shop")
        flux.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
        eventually(
            lambda: self.ask("--dry-run=server", ticket="INC-1").returncode == 0,
            "the mutating webhook's registration",
        )

    def kubectl(self, person: str, *arguments: str) -> Result:
        return self.cluster.as_(person).kubectl(*arguments, "-n", self.namespace, check=False)

    def ask(self, *options: str, on: str = "deployment/web", **differing: str) -> Result:
        words = [f"{PREFIX}{name}={text}" for name, text in (ASK | differing).items()]
        return self.kubectl("responder", "annotate", on, "--overwrite", *words, *options)

    def image(self, person: str, tag: str) -> Result:
        image = f"app=registry.example/web:{tag}"
        return self.kubectl(person, "set", "image", "deployment/web", image)

    def events(self, reason: str, place: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.cluster.get(
            "events.v1.events.k8s.io", "-n", place or self.namespace
        )["items"]
        return [each for each in found if each["reason"] == reason]

    def told(self, reason: str) -> dict[str, Any]:
        """Return the one Event of that kind, once it is there."""
        [event] = eventually(lambda: self.events(reason), reason)
        return event


@pytest.fixture
def web(guard: Guard, flux_account: Caller, namespace: str) -> Web:
    return Web(guard.cluster, flux_account, namespace)


def test_grant_use_denial_and_end_are_published_on_the_object(web: Web) -> None:
    web.image("developer", "2")
    web.ask(ticket="none")
    web.ask()
    web.image("responder", "2")
    web.kubectl("responder", "annotate", "deployment/web", f"{PREFIX}reason-")
    refused, granted = web.told("WriteRefused"), web.told("BreakGlassGranted")
    assert (refused["type"], granted["type"]) == ("Warning", "Normal")
    assert refused["note"].startswith(
        "developer was refused to change /spec/template/spec/containers[name=app]/image: Deployment"
    )
    assert "registry.example" not in refused["note"]
    assert granted["note"].startswith("responder may write to it until ")
    assert granted["note"].endswith("for INC-42: checkout is down for everybody.")
    assert "the ticket 'none' does not match" in web.told("BreakGlassRefused")["note"]
    assert "under the grant for INC-42." in web.told("BreakGlassUsed")["note"]
    assert "ended the grant for INC-42." in web.told("BreakGlassClosed")["note"]
    shown = web.kubectl("developer", "events", "--for=deployment/web").stdout
    assert "BreakGlassGranted" in shown
    assert "BreakGlassGranted" in web.kubectl("developer", "describe", "deployment/web").stdout


def test_repeated_denials_are_one_event_with_a_count(web: Web) -> None:
    for _ in range(3):
        web.image("developer", "2")
    eventually(
        lambda: web.told("WriteRefused").get("series", {}).get("count") == 3,
        "the Event to be a series of three",
    )
    shown = web.kubectl("developer", "get", "events", "-o", "wide").stdout
    assert shown.count("WriteRefused") == 1


def test_dry_run_publishes_no_event(web: Web) -> None:
    web.ask("--dry-run=server")
    web.image("developer", "2")
    web.told("WriteRefused")  # by now the dry run's would be there too
    assert web.events("BreakGlassGranted") == []


def test_event_of_a_namespace_grant_is_published_in_the_default_namespace(
    web: Web, namespace: str
) -> None:
    web.ask(on=f"namespace/{namespace}")

    def told() -> list[str]:
        found = web.events("BreakGlassGranted", "default")
        return [each["note"] for each in found if each["regarding"]["name"] == namespace]

    [note] = eventually(told, "the Event about the Namespace")
    assert note.startswith("responder may write to all in it until ")
