"""An application that a real reconciler deploys and defends, and somebody who mends it by hand."""

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tests.cluster.argocd import Application, ArgoCD
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import Flux, Kustomization
from tests.cluster.gitrepository import GitRepository
from tests.cluster.retries import eventually
from tests.cluster.test_gitops import deployment, image_of

Live: TypeAlias = dict[str, Any]

PREFIX: Final = "breakglass.glasswarden.io"
FIRST: Final = "registry.example/web:1"
SECOND: Final = "registry.example/web:2"
HOTFIX: Final = "registry.example/web:hotfix"

POLICY: Final = """
breakGlass:
  rules:
    - {name: on-call, groups: [oncall], ticket: 'INC-[0-9]+'}
    - {name: leads, groups: [leads], hold: false}
"""

_WRITERS: Final = {
    Kustomization: "system:serviceaccount:flux-system:kustomize-controller",
    Application: "system:serviceaccount:argocd:argocd-application-controller",
}

# Something else that stays in Git, so that the folder is never empty.
_NEIGHBOUR: Final = json.dumps(
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "neighbour"}}
)


def in_git(image: str = FIRST, **spec: object) -> str:
    """Return the Deployment as Git has it, with *spec* besides."""
    manifest = json.loads(deployment(image))
    manifest["metadata"]["labels"] = {"tier": "front"}
    manifest["spec"] |= spec
    return json.dumps(manifest)


@dataclass
class Scene:
    """The Deployment `web`, deployed from Git into a namespace of its own."""

    cluster: ControlPlane
    repository: GitRepository
    namespace: str
    deployed: Kustomization | Application
    began: float = field(default_factory=time.time)
    """When the glass was broken."""

    def live(self) -> Live:
        """Return the Deployment as it is."""
        found: Live = self.cluster.get("deployment/web", "-n", self.namespace)
        return found

    def commit(self, manifest: str | None, *, nudge: bool = True) -> str:
        """Put *manifest* into Git, or take it out; return the revision.

        The reconciler is asked to look at it now, unless it shall find out by itself.
        """
        revision = self.repository.commit({"shop/web.yaml": manifest}, "next")
        if nudge:
            self.deployed.sync()
        return revision

    def kubectl(self, *arguments: str, who: str = "responder", check: bool = True) -> str:
        """Run kubectl as somebody; return what they are told."""
        done = self.cluster.as_(who).kubectl(*arguments, "-n", self.namespace, check=check)
        return done.stderr

    def break_glass(self, on: str = "deployment/web", who: str = "responder") -> None:
        """Annotate with a reason, a ticket and an hour."""
        self.began = time.time()
        words = ("ticket=INC-42", "ttl=1h", "reason=checkout answers nobody")
        self.kubectl("annotate", on, *(f"{PREFIX}/{each}" for each in words), who=who)

    def let_expire(self) -> None:
        """Cut the grant short: it ends within seconds."""
        passed = math.ceil(time.time() - self.began)
        self.kubectl("annotate", "deployment/web", f"{PREFIX}/ttl={passed + 3}s", "--overwrite")

    def mend(self) -> None:
        """Change an image, add a variable, take a label off, scale."""
        self.kubectl("set", "image", "deployment/web", f"web={HOTFIX}")
        self.kubectl("set", "env", "deployment/web", "FEATURE=off")
        self.kubectl("label", "deployment/web", "tier-")
        self.kubectl("scale", "deployment/web", "--replicas=4")

    def tries(self) -> int:
        """Return how often the reconciler has written to the Deployment, dry runs included."""
        return sum(map(self._is_try, self.cluster.audit_events()))

    def wait_for_tries(self, more: int, meanwhile: Callable[[], None]) -> None:
        """Wait until the reconciler has tried *more* times, looking at *meanwhile* all along."""
        enough = self.tries() + more

        def tried() -> bool:
            meanwhile()
            return self.tries() >= enough

        eventually(tried, f"{more} more writes of the reconciler", seconds=90)

    def failures(self) -> list[str]:
        """Return each failure that the reconciler has ever reported, from the audit log."""
        return [
            failure
            for event in self.cluster.audit_events()
            if event.get("objectRef", {}).get("name") == self.deployed.name
            for failure in failures_in((event.get("responseObject") or {}).get("status", {}))
        ]

    def assert_content(self) -> None:
        """Check that the reconciler is not in trouble now."""
        assert failures_in(self.deployed.get()["status"]) == []

    def _is_try(self, event: dict[str, Any]) -> bool:
        about = event.get("objectRef", {})
        return (
            event["verb"] == "patch"
            and event["user"]["username"] == _WRITERS[type(self.deployed)]
            and (about.get("resource"), about.get("namespace")) == ("deployments", self.namespace)
        )


def failures_in(status: object) -> list[str]:
    """Return what a Kustomization's or an Application's *status* says has failed."""
    if not isinstance(status, dict):
        return []
    operation = status.get("operationState", {})
    ready = [each for each in status.get("conditions", ()) if each["type"] == "Ready"]
    return [
        *(str(each.get("message")) for each in ready if each["status"] == "False"),
        *([str(operation)] if operation.get("phase") in {"Failed", "Error"} else []),
    ]


@contextmanager
def deployed_by(
    engine: Flux | ArgoCD, cluster: ControlPlane, repository: GitRepository, namespace: str
) -> Iterator[Scene]:
    """Have *engine* deploy the first version; it goes on until the end of the block."""
    files = {"shop/web.yaml": in_git(), "shop/neighbour.yaml": _NEIGHBOUR}
    first = repository.commit(files, "first")
    with engine.deploy(repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        yield Scene(cluster, repository, namespace, deployed)


def is_mended(live: Live) -> bool:
    """Return whether all of `Scene.mend` is there."""
    [container] = live["spec"]["template"]["spec"]["containers"]
    return (
        image_of(live) == HOTFIX
        and live["spec"]["replicas"] == 4
        and container.get("env") == [{"name": "FEATURE", "value": "off"}]
        and "tier" not in live["metadata"].get("labels", {})
    )


def is_healed(scene: Scene, image: str) -> bool:
    """Return whether the Deployment is as Git has it, but for additions that Argo CD overlooks."""
    live = scene.live()
    [container] = live["spec"]["template"]["spec"]["containers"]
    return (
        image_of(live) == image
        and live["spec"]["replicas"] == 1
        and live["metadata"].get("labels", {}).get("tier") == "front"
        and (isinstance(scene.deployed, Application) or not container.get("env"))
        and not is_marked(live)
    )


def is_marked(live: Live) -> bool:
    """Return whether anything of break-glass is on *live*."""
    return any(name.startswith(f"{PREFIX}/") for name in live["metadata"].get("annotations", {}))
