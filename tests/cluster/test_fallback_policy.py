"""The fallback policy and the webhook, asked about the same writes by the same API server.

Each write is made twice, on objects of its own: once with only the webhook registered, once with
only the fallback policy, which must never deny what the webhook allows.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.cluster.applications import Manifest, by_argocd, by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN, guarding
from tests.cluster.kubectl import Caller, Result
from tests.cluster.retries import eventually

POLICY = """
modes:
  - {mode: audit, namespaces: [test-*], names: [watched-*]}
  - {mode: warn, labels: {tier: try}}
  - {mode: audit, applications: [sandbox, team/api]}
  - {mode: audit, labels: {canary: "*"}}
markers:
  - {name: pipeline, label: example.com/git}
  - {name: deployer, annotation: example.com/by, value: deployer, controllers: [deployer]}
delegations:
  - {name: scaler, actors: [lead], fields: [/spec/replicas]}
"""
FIREFIGHTER = ("--as=root", "--as-group=glasswarden:emergency", "--as-group=system:masters")

Act = Callable[[Caller, str, str], Result]


def kubectl(*arguments: str) -> Act:
    """Return an act: kubectl with the object's name in place of NAME."""

    def act(caller: Caller, namespace: str, name: str) -> Result:
        words = [word.replace("NAME", name) for word in arguments]
        return caller.kubectl(*words, "-n", namespace, check=False)

    return act


def creating(mark: Callable[[Manifest, str], Manifest] | None) -> Act:
    def act(caller: Caller, namespace: str, name: str) -> Result:
        manifest = deployment(f"{name}-new", namespace)
        manifest = mark(manifest, "shop") if mark else manifest
        return caller.kubectl("create", "-f", "-", stdin=manifest, check=False)

    return act


ASKED = '{"metadata": {"annotations": {"breakglass.glasswarden.io/reason": "INC-42"}}}'
ASK = kubectl("patch", "deployment/NAME", "-p", ASKED)
SET_IMAGE = kubectl("set", "image", "deployment/NAME", "app=registry.example/other:1")
SCALE_BY_PATCH = kubectl("patch", "deployment/NAME", "-p", '{"spec": {"replicas": 9}}')


@dataclass(frozen=True, slots=True)
class Case:
    """One write, and what becomes of it."""

    name: str
    act: Act
    webhook_denies: bool | None
    """None where it depends on more than this policy says."""
    floor_denies: bool
    person: str = "developer"
    mark: Callable[[Manifest, str], Manifest] | None = by_flux
    app: str = "shop"
    prefix: str = "web"
    labels: tuple[tuple[str, str], ...] = ()


def copied(manifest: Manifest, app: str) -> Manifest:
    """Mark *manifest* as Argo CD marks another object."""
    marked = by_argocd(manifest | {"kind": "Deployment"}, app)
    tracking = f"{app}:apps/Deployment:elsewhere/other"
    marked["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"] = tracking
    return marked


def annotated(**marks: str) -> Callable[[Manifest, str], Manifest]:
    """Return how an object is marked; `__` in a name stands for a dot, `_` for a slash."""

    def mark(manifest: Manifest, app: str) -> Manifest:
        metadata = manifest["metadata"]
        named = {key.replace("__", ".").replace("_", "/"): text for key, text in marks.items()}
        filled = {key: text or app for key, text in named.items()}
        annotations = metadata["annotations"] | filled
        return manifest | {"metadata": metadata | {"annotations": annotations}}

    return mark


BY_DEPLOYER = annotated(example__com_by="deployer")
BY_SOMEBODY = annotated(example__com_by="somebody")
BY_SVELTOS = annotated(**{"projectsveltos__io_owner-name": ""})


def by_kapp(manifest: Manifest, app: str) -> Manifest:
    labels = manifest["metadata"]["labels"] | {"kapp.k14s.io/app": app}
    return manifest | {"metadata": manifest["metadata"] | {"labels": labels}}


def by_pipeline(manifest: Manifest, _: str) -> Manifest:
    labels = manifest["metadata"]["labels"] | {"example.com/git": ""}
    return manifest | {"metadata": manifest["metadata"] | {"labels": labels}}


CASES = (
    Case("a marker without a value", SET_IMAGE, True, True, mark=by_pipeline),
    Case("an audited label of any value", SET_IMAGE, False, False, labels=(("canary", ""),)),
    Case("a marker of ones own", SET_IMAGE, True, True, mark=BY_DEPLOYER),
    Case("a marker with another value", SET_IMAGE, False, False, mark=BY_SOMEBODY),
    Case("an image of Sveltos", SET_IMAGE, True, True, mark=BY_SVELTOS),
    Case("a namespaced application", SET_IMAGE, False, False, mark=by_argocd, app="team_api"),
    Case("another teams application", SET_IMAGE, True, True, mark=by_argocd, app="other_api"),
    Case("an image of Flux's", SET_IMAGE, True, True),
    Case("an image of Argo CD's", SET_IMAGE, True, True, mark=by_argocd),
    Case("a deletion", kubectl("delete", "deployment/NAME", "--wait=false"), True, True),
    Case("a created claim", creating(by_flux), True, True),
    Case("a created claim of Argo CD's", creating(by_argocd), True, True),
    Case("nobody's object", SET_IMAGE, False, False, mark=None),
    Case("nobody's creation", creating(None), False, False),
    Case("a copied mark", SET_IMAGE, False, False, mark=copied),
    Case("a restart", kubectl("rollout", "restart", "deployment/NAME"), False, False),
    Case("an audited name", SET_IMAGE, False, False, prefix="watched"),
    Case("a warned label", SET_IMAGE, False, False, labels=(("tier", "try"),)),
    Case("an audited application", SET_IMAGE, False, False, app="sandbox"),
    Case("a delegate's field", SCALE_BY_PATCH, False, False, person="lead"),
    Case("nothing new", kubectl("patch", "deployment/NAME", "-p", "{}"), False, False),
    # Only the webhook can tell.
    Case("an image of kapp's", SET_IMAGE, True, False, mark=by_kapp),
    Case("a delegate's other field", SET_IMAGE, True, False, person="lead"),
    Case("a label", kubectl("label", "deployment/NAME", "a=b"), True, False),
    Case(
        "a request for break-glass", kubectl("patch", "deployment/NAME", "-p", ASKED), None, False
    ),
)


@pytest.fixture(scope="module")
def verdicts(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Result, Result]]:
    """Return for each case what came of it: with the webhook, and with the floor."""
    folder = tmp_path_factory.mktemp("guard")
    with guarding(cluster, folder, POLICY) as guard:
        webhook = {case.name: tried(cluster, case) for case in CASES}
        policy = str(guard.policy)
    command = [*GLASSWARDEN, "manifests", "fallback-policy", "--policy", policy]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    with applied(cluster, json.loads(printed)):
        eventually(lambda: is_denied(tried(cluster, CASES[0])), "the floor to hold")
        floor = {case.name: tried(cluster, case) for case in CASES}
        firefighter = kubectl("set", "image", "deployment/NAME", "app=x", *FIREFIGHTER)
        emergency = Case("emergency", firefighter, False, False, person="admin")
        floor["emergency"] = webhook["emergency"] = tried(cluster, emergency)
    return {name: (webhook[name], floor[name]) for name in floor}


@contextmanager
def applied(cluster: ControlPlane, manifests: Manifest) -> Iterator[None]:
    cluster.as_("admin").kubectl("apply", "--server-side", "-f", "-", stdin=manifests)
    try:
        yield
    finally:
        cluster.as_("admin").kubectl("delete", "-f", "-", stdin=manifests)


def tried(cluster: ControlPlane, case: Case) -> Result:
    """Make an object as its owner leaves it, then do what the case does."""
    admin = cluster.as_("admin")
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "test-"}}
    created = admin.kubectl("create", "-f", "-", "-o", "name", stdin=made).stdout
    namespace = created.strip().removeprefix("namespace/")
    manifest = deployment(f"{case.prefix}-1", namespace)
    manifest["metadata"]["labels"] = dict(case.labels)
    manifest = case.mark(manifest, case.app) if case.mark else manifest
    # Whoever its controller is: this group is asked about nothing.
    admin.kubectl("apply", "--server-side", *FIREFIGHTER, "-f", "-", stdin=manifest)
    result = case.act(cluster.as_(case.person), namespace, f"{case.prefix}-1")
    admin.kubectl("delete", "namespace", namespace, "--wait=false")
    return result


def is_denied(result: Result) -> bool:
    refused = "denied the request" in result.stderr or "denied request" in result.stderr
    assert refused or result.returncode == 0, result
    return refused


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fallback_policy_denies_only_what_the_webhook_denies(
    verdicts: dict[str, tuple[Result, Result]], case: Case
) -> None:
    webhook, floor = verdicts[case.name]
    assert case.webhook_denies in (None, is_denied(webhook))
    assert is_denied(floor) == case.floor_denies
    assert is_denied(webhook) or not is_denied(floor)


def test_emergency_group_passes_the_fallback_policy(
    verdicts: dict[str, tuple[Result, Result]],
) -> None:
    assert not is_denied(verdicts["emergency"][1])


def test_denial_of_the_fallback_policy_names_the_object(
    verdicts: dict[str, tuple[Result, Result]],
) -> None:
    _, floor = verdicts["an image of Flux's"]
    assert "web-1 is managed by GitOps; this direct write is refused" in floor.stderr
