"""The follow-up of grants on the real API server: overdue, swept, and grants on a Namespace."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN, Guard, guarding
from tests.cluster.kubectl import Caller, Result
from tests.cluster.retries import eventually

PREFIX = "breakglass.glasswarden.io/"
POLICY = """
breakGlass:
  rules:
    - name: responders
      groups: [oncall]
      ticket: INC-[0-9]+
      namespaceWide: true
"""
ASK = {"reason": "checkout is down for everybody", "ticket": "INC-42", "ttl": "1h"}


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("grants"), POLICY) as running:
        yield running


@pytest.fixture
def shop(guard: Guard, flux_account: Caller, namespace: str) -> "Shop":
    found = Shop(guard, flux_account, namespace)
    found.reconcile()
    trial = ("--dry-run=server",)
    eventually(
        lambda: found.annotate("responder", "deployment/web", *trial, **ASK).returncode == 0,
        "the mutating webhook's registration",
    )
    return found


class Shop:
    """A namespace in which Flux owns the Deployments web and api."""

    def __init__(self, guard: Guard, flux: Caller, namespace: str) -> None:
        self.guard = guard
        self.namespace = namespace
        self._flux = flux

    def reconcile(self) -> None:
        """Write what Git says, as Flux does."""
        manager = "--field-manager=kustomize-controller"
        apply = ("apply", "--server-side", "--force-conflicts", manager, "-f", "-")
        for name in ("web", "api"):
            manifest = by_flux(deployment(name, self.namespace), "shop")
            self._flux.kubectl(*apply, stdin=manifest)

    def kubectl(self, person: str, *arguments: str) -> Result:
        caller = self.guard.cluster.as_(person)
        return caller.kubectl(*arguments, "-n", self.namespace, check=False)

    def annotate(self, person: str, target: str, *options: str, **texts: str | None) -> Result:
        words = [
            f"{PREFIX}{name}-" if text is None else f"{PREFIX}{name}={text}"
            for name, text in texts.items()
        ]
        return self.kubectl(person, "annotate", target, "--overwrite", *words, *options)

    def image(self, person: str, name: str, tag: str) -> Result:
        image = f"app=registry.example/web:{tag}"
        return self.kubectl(person, "set", "image", f"deployment/{name}", image)

    def scale(self, person: str, name: str, replicas: int) -> Result:
        return self.kubectl(person, "scale", f"deployment/{name}", f"--replicas={replicas}")

    def get(self, target: str) -> dict[str, Any]:
        found: dict[str, Any] = self.guard.cluster.get(target, "-n", self.namespace)
        return found

    def live_image(self, name: str) -> str:
        [container] = self.get(f"deployment/{name}")["spec"]["template"]["spec"]["containers"]
        return str(container["image"]).partition(":")[2]

    def marks(self, target: str) -> set[str]:
        """Return our annotations on *target*, by their short names."""
        found = self.get(target)["metadata"].get("annotations", {})
        return {name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX)}

    def grants(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `glasswarden grants WORDS` as the responder."""
        caller = self.guard.cluster.as_("responder")
        given = {"KUBECTL": str(caller.program), "GLASSWARDEN_LEDGER": self.guard.ledger}
        return subprocess.run(
            [*GLASSWARDEN, "grants", *words],
            capture_output=True,
            text=True,
            env=os.environ | caller.environment() | given,
            timeout=60,
            check=False,
        )

    def states(self) -> dict[str, str]:
        """Return the states of the grants in this namespace, by their objects."""
        listed = self.grants("--all", "--format", "json")
        assert listed.returncode == 0, listed.stderr
        place = f" {self.namespace}"
        return {
            each["object"].partition("/")[2]: each["state"]
            for each in json.loads(listed.stdout)
            if place in each["object"]
        }


def done(result: Result) -> None:
    assert result.returncode == 0, result


def refused(result: Result) -> str:
    assert result.returncode == 1, result
    return result.stderr


def test_ended_grant_is_overdue_until_its_change_is_undone(shop: Shop) -> None:
    done(shop.annotate("responder", "deployment/web", **ASK | {"ttl": "4s"}))
    done(shop.image("responder", "web", "hotfix"))
    assert shop.states() == {"web": "open"}
    eventually(lambda: shop.states() == {"web": "overdue"}, "the grant to end", seconds=30)
    shown = shop.grants("--exit-code", "--overdue")
    assert shown.returncode == 1, shown.stderr
    assert f"Deployment {shop.namespace}/web" in shown.stdout
    assert "[still live]" in shown.stdout
    shop.reconcile()
    assert shop.states() == {"web": "settled"}


def test_sweep_removes_the_annotations_of_ended_grants_only(shop: Shop) -> None:
    # It counts from the beginning of a second: of one alone nothing might be left to store it in.
    done(shop.annotate("responder", "deployment/web", **ASK | {"ttl": "3s"}))
    done(shop.annotate("responder", f"namespace/{shop.namespace}", **ASK | {"ttl": "3s"}))
    done(shop.annotate("responder", "deployment/api", **ASK))
    time.sleep(3.1)
    trial = shop.grants("sweep", "--dry-run")
    assert f"Deployment {shop.namespace}/web: grant, reason, ticket, ttl" in trial.stdout
    assert shop.marks("deployment/web") == {"grant", *ASK}
    swept = shop.grants("sweep")
    assert swept.returncode == 0, swept.stderr
    assert f"Namespace {shop.namespace}: grant, reason, ticket, ttl" in swept.stdout
    assert shop.marks("deployment/web") == set()
    assert shop.marks(f"namespace/{shop.namespace}") == set()
    labels = shop.get(f"namespace/{shop.namespace}")["metadata"]["labels"]
    assert f"{PREFIX}active" not in labels
    assert shop.marks("deployment/api") == {"grant", *ASK}
    assert f"{shop.namespace}/web" not in shop.grants("sweep").stdout


def test_namespace_grant_covers_all_objects_in_it_until_it_is_closed(shop: Shop) -> None:
    namespace = f"namespace/{shop.namespace}"
    refused(shop.image("responder", "web", "hotfix"))
    done(shop.annotate("responder", namespace, **ASK))
    eventually(
        lambda: shop.image("responder", "web", "hotfix").returncode == 0,
        "the Namespace's grant to be seen",
    )
    done(shop.image("responder", "api", "hotfix"))
    done(shop.scale("responder", "api", 7))
    assert "denied the request" in refused(shop.image("outsider", "web", "theirs"))
    assert "denied the request" in refused(shop.scale("outsider", "api", 1))
    shop.reconcile()
    assert (shop.live_image("web"), shop.live_image("api")) == ("hotfix", "hotfix")
    assert shop.get("deployment/api")["spec"]["replicas"] == 7
    done(shop.annotate("responder", namespace, reason=None, outcome="reverted"))
    eventually(
        lambda: shop.image("responder", "web", "again").returncode != 0,
        "the closing to be seen",
    )
    refused(shop.scale("responder", "api", 8))
    shop.reconcile()
    assert shop.live_image("web") != "hotfix"
    assert shop.get("deployment/api")["spec"]["replicas"] != 7
