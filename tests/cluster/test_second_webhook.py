"""Another mutating webhook writes to the same object, before ours or after it: nothing is lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glasswarden.policy.breakglass.annotations import decode_unverified
from glasswarden.policy.breakglass.tokens import Stamp
from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding
from tests.cluster.injector import MARK, SIDECAR, injecting
from tests.cluster.kubectl import Caller, Result
from tests.cluster.retries import eventually

PREFIX = "breakglass.glasswarden.io/"
POLICY = """
breakGlass:
  rules:
    - {name: responders, groups: [oncall], ticket: "INC-[0-9]+"}
"""
ASK = {"reason": "checkout is down for everybody", "ticket": "INC-42", "ttl": "30m"}
HOTFIX = "registry.example/web:hotfix"
IMAGE = "/spec/template/spec/containers[name=app]/image"
INJECTED = {
    "/metadata/annotations/mesh.example.com~1injected",
    "/spec/template/spec/containers[name=mesh]",
}


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("guard"), POLICY) as running:
        yield running


class Web:
    """The Deployment web."""

    def __init__(self, guard: Guard, flux: Caller, namespace: str) -> None:
        self.guard = guard
        self.namespace = namespace
        self._flux = flux
        self.reconcile()

    def reconcile(self, replicas: int = 3) -> None:
        """Write what Git says, as Flux does."""
        manifest = by_flux(deployment("web", self.namespace, replicas=replicas), "shop")
        manager = "--field-manager=kustomize-controller"
        apply = ("apply", "--server-side", "--force-conflicts", manager, "-f", "-")
        self._flux.kubectl(*apply, stdin=manifest)

    def kubectl(self, person: str, *arguments: str) -> Result:
        caller = self.guard.cluster.as_(person)
        return caller.kubectl(*arguments, "-n", self.namespace, check=False)

    def mend(self, *options: str) -> Result:
        """Break the glass and bring the hotfix, in one write."""
        patch = {
            "metadata": {"annotations": {f"{PREFIX}{name}": text for name, text in ASK.items()}},
            "spec": {"template": {"spec": {"containers": [{"name": "app", "image": HOTFIX}]}}},
        }
        words = ("patch", "deployment/web", "-p", json.dumps(patch))
        return self.kubectl("responder", *words, *options)

    @property
    def object(self) -> dict[str, Any]:
        found: dict[str, Any] = self.guard.cluster.get("deployment/web", "-n", self.namespace)
        return found

    @property
    def stamp(self) -> Stamp:
        token = self.object["metadata"]["annotations"][f"{PREFIX}grant"]
        stamp = decode_unverified(token, Stamp)
        assert stamp is not None
        return stamp

    @property
    def images(self) -> dict[str, str]:
        containers = self.object["spec"]["template"]["spec"]["containers"]
        return {each["name"]: each["image"] for each in containers}

    def is_ready(self) -> bool:
        """Return whether the API server asks both webhooks by now."""
        tried = self.mend("--dry-run=server", "-o", "json")
        if tried.returncode:
            return False
        annotations: dict[str, str] = tried.json()["metadata"]["annotations"]
        return {MARK, f"{PREFIX}grant"} <= annotations.keys()


@pytest.mark.parametrize("reinvocation", ["Never", "IfNeeded"])
@pytest.mark.parametrize("name", ["a-mesh", "z-mesh"], ids=["before ours", "after ours"])
def test_stamp_and_held_fields_are_right_beside_another_mutating_webhook(
    guard: Guard, flux_account: Caller, namespace: str, tmp_path: Path, name: str, reinvocation: str
) -> None:
    web = Web(guard, flux_account, namespace)
    with injecting(guard.cluster, tmp_path, namespace, name, reinvocation):
        eventually(web.is_ready, "both webhooks")
        mended = web.mend()
        assert mended.returncode == 0, mended
        hotfixed = {"app": HOTFIX, SIDECAR["name"]: SIDECAR["image"]}
        assert web.images == hotfixed
        assert set(web.stamp.held) == {IMAGE, *INJECTED}
        record = guard.records_in(namespace)[-1]
        assert {change.path for change in record.changes} == {IMAGE, *INJECTED}

        again = web.kubectl("responder", "label", "deployment/web", "tier=front")
        assert again.returncode == 0, again
        denied = web.kubectl("outsider", "label", "deployment/web", "tier=back", "--overwrite")
        assert "the grant for INC-42 is responder's" in denied.stderr

        web.reconcile(replicas=4)
        assert web.object["spec"]["replicas"] == 4
        assert web.images == hotfixed
        assert set(web.stamp.held) == {IMAGE, "/metadata/labels/tier", *INJECTED}

        closed = web.kubectl("responder", "annotate", "deployment/web", f"{PREFIX}reason-")
        assert "The grant for INC-42 is closed" in closed.stderr
        web.reconcile(replicas=4)
        assert web.images["app"] == "registry.example/web:1.4.2"
        assert web.images[SIDECAR["name"]] == SIDECAR["image"]
        assert f"{PREFIX}grant" not in web.object["metadata"]["annotations"]
