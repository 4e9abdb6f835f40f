"""One incident from end to end, as it really happens: the demo's story, and the tests' exam.

Flux deploys a shop from Git. A developer is denied. A responder breaks the glass, scales and sets
an image; Flux leaves both alone. A commit breaks Flux, so that nothing is put back from then on:
an autoscaler scales, somebody of the emergency group goes past the guard, and the grant ends with
the fix still live. Nothing is pretended: kubectl, the API server, Flux, the autoscaler's controller
and the guard are the real ones.
"""

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from glasswarden.demo.story import Exchange, Step
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import GIT_REPOSITORY, KUSTOMIZATION, Flux, Kustomization
from tests.cluster.gitrepository import GitRepository
from tests.cluster.guard import Guard, registered, serving
from tests.cluster.kubectl import Edit, Result, replace
from tests.cluster.readiness import pods_become_ready
from tests.cluster.retries import eventually
from tests.cluster.test_break_command import typed
from tests.cluster.wiretap import Wiretap, tapped

Manifest = dict[str, Any]

NAMESPACE: Final = "shop"
FOLDER: Final = "deploy"
TTL: Final = 30
"""Seconds that the grant lives: long enough for what happens under it on a busy machine."""

HOTFIX: Final = "registry.example/web:1.4.3-hotfix"
KUSTOMIZE_CONTROLLER: Final = "system:serviceaccount:flux-system:kustomize-controller"

POLICY: Final = """\
cluster: prod
emergencyGroup: leads
breakGlass:
  rules:
    - name: responders
      groups: [oncall]
      ticket: INC-[0-9]+
      ttl: {default: 30m, longest: 2h}
"""

WEB: Final = """\
# The shop's front. Whoever changes this: the storefront team reviews it.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels:
    team: storefront
spec:
  replicas: 5  # sized for the evening peak
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: registry.example/web:1.4.2  # the pipeline writes this line
          env:
            - name: LOG_LEVEL
              value: info
          ports:
            - containerPort: 8080
"""

API: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: api
spec:
  replicas: 2
  selector:
    matchLabels: {app: api}
  template:
    metadata:
      labels: {app: api}
    spec:
      containers:
        - name: api
          image: registry.example/api:2.0.1
"""

SETTINGS: Final = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  currency: EUR
  payments: primary
"""

BROKEN: Final = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: promotion
data:
<<<<<<< HEAD
  banner: Autumn sale
=======
  banner: Winter sale
>>>>>>> winter
"""

MERGED: Final = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: promotion
data:
  banner: Winter sale
"""

FILES: Final = {
    f"{FOLDER}/web.yaml": WEB,
    f"{FOLDER}/api.yaml": API,
    f"{FOLDER}/settings.yaml": SETTINGS,
}
PROMOTION: Final = f"{FOLDER}/promotion.yaml"


@dataclass
class Scene:
    """Where the story happens, and what has happened so far."""

    guard: Guard
    tap: Wiretap
    repository: GitRepository
    deployed: Kustomization
    first: list[Manifest] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    kept: int = 0
    """How many of the questions that were heard are in a step."""

    @property
    def cluster(self) -> ControlPlane:
        return self.guard.cluster

    def types(self, title: str, person: str, *words: str, edit: Edit = ()) -> Result:
        """Have *person* type `kubectl WORDS`; keep what they saw."""
        self._let_settle()
        caller, began = self.cluster.as_(person), datetime.now(UTC)
        command = shlex.join(["kubectl", *words])
        if words[0] == "glasswarden":
            done = typed(caller, *words[1:])
            result = Result(command, done.returncode, done.stdout, done.stderr)
        else:
            result = caller.kubectl(*words, editor=edit, check=False)
        self._keep(Step(title, began, person, command, before_our_words(result)))
        return result

    def happens(self, title: str, look: Callable[[], object], *, seconds: float = 60) -> None:
        """Wait until *look* sees what programs do by themselves; words that it returns are kept."""
        began = datetime.now(UTC)
        seen = eventually(look, title, seconds=seconds)
        self._keep(Step(title, began, said=seen if isinstance(seen, str) else ""))

    def live(self, kind: str, name: str, namespace: str = NAMESPACE) -> Manifest:
        """Return an object as it is."""
        where = ("-n", namespace) if namespace else ()
        found: Manifest = self.cluster.get(kind, name, *where, "--show-managed-fields")
        return found

    def objects(self) -> list[Manifest]:
        """Return the application's objects as they are, and what reconciles and scales them."""
        kinds = "deployment,configmap,horizontalpodautoscaler"
        found = self.cluster.get(kinds, "-n", NAMESPACE, "--show-managed-fields")["items"]
        return [
            self.live("namespace", NAMESPACE, ""),
            *(each for each in found if each["metadata"]["name"] != "kube-root-ca.crt"),
            self.live(KUSTOMIZATION, NAMESPACE, "flux-system"),
            self.live(GIT_REPOSITORY, NAMESPACE, "flux-system"),
        ]

    def tries_of_flux(self) -> int:
        """Return how often the webhook was asked about a write of Flux to the Deployment."""
        return sum(map(is_flux, self.tap.heard))

    def _let_settle(self) -> None:
        """Wait until no controller is about to write: a write that meets another is tried again."""

        def settled() -> bool:
            return all(map(is_settled, self.cluster.get("deployment", "-n", NAMESPACE)["items"]))

        eventually(settled, "the deployments to settle")

    def _keep(self, step: Step) -> None:
        """Keep *step* with the questions that it led to, of Flux's dry runs only the first.

        What came after the last question about a person's own write belongs to what comes next.
        """
        heard = self.tap.heard[self.kept :]
        own = [index for index, each in enumerate(heard, 1) if each.user == step.person]
        heard = heard[: max(own, default=0)] if step.person else heard
        self.kept += len(heard)
        trials = [each for each in heard if is_flux(each) and _is_dry_run(each)]
        kept = [each for each in heard if each not in trials[1:]]
        self.steps.append(structs.replace(step, exchanges=kept))


def tell(scene: Scene) -> None:
    """Have the story happen, up to the moment when somebody asks what has happened."""
    web = ("deployment/web", "-n", NAMESPACE)
    image = ("set", "image", *web)
    scene.first = scene.objects()
    # The guard looks the repository up in the background: the next denial can name it.
    scene.types("", "developer", *image, "web=registry.example/web:debug", "--dry-run=server")
    scene.types(
        "A developer edits what Flux owns, and is told where to change it instead.",
        "developer",
        *("edit", *web),
        edit=replace("replicas: 5", "replicas: 3"),
    )
    began = datetime.now(UTC)
    scene.types(
        "The checkout is down. A responder breaks the glass, for a while,",
        "responder",
        *("glasswarden", "break", *web, "--ticket", "INC-42"),
        *("--reason", "checkout is down", "--ttl", f"{TTL}s"),
    )
    scene.types("scales,", "responder", "scale", *web, "--replicas=8")
    scene.types("and sets another image.", "responder", *image, f"web={HOTFIX}")
    tried = scene.tries_of_flux()
    scene.happens(
        "Flux applies what Git says, again and again: the fix is held, the rest passes.",
        lambda: scene.tries_of_flux() >= tried + 2,
    )
    scene.repository.commit({PROMOTION: BROKEN}, "Announce the winter sale")
    scene.deployed.sync()
    scene.happens(
        "Somebody commits a half-merged file. Flux fails, and puts nothing back from now on.",
        lambda: complaint(scene.deployed.get()),
    )
    scene.types(
        "The API gets an autoscaler,",
        "lead",
        *("autoscale", "deployment/api", "-n", NAMESPACE, "--min=4", "--max=8"),
    )
    scene.happens(
        "which scales it: that field was delegated to it.",
        lambda: scene.live("deployment", "api")["spec"]["replicas"] == 4,
    )
    scene.types(
        "Somebody of the emergency group goes past the guard. Nobody is asked.",
        "lead",
        *("patch", "configmap/settings", "-n", NAMESPACE),
        *("--type=merge", "-p", json.dumps({"data": {"payments": "standby"}})),
    )
    over = began + timedelta(seconds=TTL + 2)
    eventually(lambda: datetime.now(UTC) > over, "the grant to end", seconds=TTL + 10)
    scene.types(
        "The grant has ended; the fix is still live.",
        "responder",
        *("scale", *web, "--replicas=12"),
    )


def mend(scene: Scene, patch: str) -> None:
    """Bring the fix to Git, leave the autoscaler its field, repair what was half merged."""
    scene.repository.apply(patch)
    files = {f"{FOLDER}/api.yaml": API.replace("  replicas: 2\n", ""), PROMOTION: MERGED}
    scene.deployed.wait_synced(scene.repository.commit(files, "Keep what INC-42 needed"))


@contextmanager
def scene_on(
    flux: Flux, cluster: ControlPlane, folder: Path, git: GitRepository
) -> Iterator[Scene]:
    """Have Flux deploy the shop, guarded; all of it goes at the end of the block."""
    admin = cluster.as_("admin")
    admin.kubectl("create", "namespace", NAMESPACE)
    try:
        with (
            serving(cluster, folder, POLICY, "cluster-admin") as guard,
            tapped(guard) as (tap, url),
            pods_become_ready(cluster, NAMESPACE),
            # What it failed at it lets be, so that it says the same whenever somebody asks.
            flux.deploy(git, FOLDER, NAMESPACE, retry="1h") as deployed,
        ):
            deployed.wait_synced(git.commit(FILES, "The shop"))
            with registered(cluster, url, guard.certificates.authority, guard.policy):
                yield Scene(guard, tap, git, deployed)
    finally:
        admin.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def complaint(kustomization: Manifest) -> str:
    """Return why Flux is not ready; nothing while it is."""
    conditions = kustomization.get("status", {}).get("conditions", [])
    found = [each for each in conditions if (each["type"], each["status"]) == ("Ready", "False")]
    return str(found[0]["message"]) if found else ""


def before_our_words(result: Result) -> str:
    """Return what kubectl printed before the webhook's own message, or all where there is none."""
    if result.returncode == 0:
        return result.stdout
    words, said, _ = result.stderr.partition("denied the request: ")
    return words + said


def is_settled(deployment: Manifest) -> bool:
    """Return whether the controllers have done what was last asked of *deployment*."""
    status, wanted = deployment["status"], deployment["spec"]["replicas"]
    counts = {status.get(f"{name}Replicas") for name in ("updated", "ready", "available")}
    seen = status.get("observedGeneration") == deployment["metadata"]["generation"]
    return seen and counts == {wanted} and status.get("replicas") == wanted


def is_flux(exchange: Exchange) -> bool:
    """Return whether the API server asked about a write of Flux."""
    return exchange.user == KUSTOMIZE_CONTROLLER


def _is_dry_run(exchange: Exchange) -> bool:
    return bool(json.loads(bytes(exchange.review))["request"].get("dryRun"))
