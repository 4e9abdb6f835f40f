"""Every way that kubectl writes, by people with certificates, on the real API server."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.cluster.applications import Manifest, by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, guarding
from tests.cluster.kubectl import Caller, Edit, Result, replace
from tests.cluster.retries import eventually

FLUX_NAME = "kustomize.toolkit.fluxcd.io/name"
FLUX_NAMESPACE = "kustomize.toolkit.fluxcd.io/namespace"
TEMPLATE = "/spec/template/spec/containers[name=app]"
WEB = "deployment/web"


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    with guarding(cluster, tmp_path_factory.mktemp("guard")) as running:
        yield running


@pytest.fixture
def shop(guard: Guard, flux_account: Caller, namespace: str) -> str:
    """Return a namespace in which Flux has deployed `web`."""
    deploy(flux_account, by_flux(deployment("web", namespace), "shop"))
    assert guard.records_in(namespace) == []
    return namespace


def deploy(flux_account: Caller, *manifests: Manifest) -> None:
    flux_account.kubectl(
        "apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-",
        stdin=list(manifests),
    )  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A command, and what of it must be refused."""

    command: tuple[str, ...]
    paths: tuple[str, ...]
    manager: str
    edit: Edit = ()
    stdin: Manifest | None = None


def changed(**spec: object) -> Manifest:
    """Return Flux's `web` with another spec; its namespace is the command's."""
    manifest = by_flux(deployment("web", "shop"), "shop")
    manifest["metadata"] = {k: v for k, v in manifest["metadata"].items() if k != "namespace"}
    return manifest | {"spec": manifest["spec"] | spec}


def patch(kind: str, body: object) -> tuple[str, ...]:
    return ("patch", WEB, f"--type={kind}", "-p", json.dumps(body))


IMAGE_PATCH = {
    "spec": {"template": {"spec": {"containers": [{"name": "app", "image": "registry.example/x"}]}}}
}

DENIED = {
    "edit": Case(
        ("edit", WEB), ("/spec/replicas",), "kubectl-edit",
        edit=replace("replicas: 3", "replicas: 5"),
    ),
    "strategic patch": Case(
        patch("strategic", IMAGE_PATCH), (f"{TEMPLATE}/image",), "kubectl-patch"
    ),
    "merge patch": Case(
        patch("merge", {"spec": {"replicas": 0}}), ("/spec/replicas",), "kubectl-patch"
    ),
    "json patch": Case(
        patch("json", [{"op": "remove", "path": "/spec/template/spec/containers/0/env/0"}]),
        (f"{TEMPLATE}/env",),
        "kubectl-patch",
    ),
    "apply": Case(
        ("apply", "-f", "-"), ("/spec/replicas",), "kubectl-client-side-apply",
        stdin=changed(replicas=7),
    ),
    "server-side apply": Case(
        ("apply", "--server-side", "--force-conflicts", "-f", "-"), ("/spec/replicas",), "kubectl",
        stdin=changed(replicas=7),
    ),
    "replace": Case(
        ("replace", "-f", "-"), ("/spec/replicas",), "kubectl-replace", stdin=changed(replicas=7)
    ),
    "set image": Case(
        ("set", "image", WEB, "app=registry.example/web:2"), (f"{TEMPLATE}/image",), "kubectl-set"
    ),
    "set env": Case(
        ("set", "env", WEB, "LOG_LEVEL=debug", "X=1"),
        (f"{TEMPLATE}/env[name=LOG_LEVEL]/value", f"{TEMPLATE}/env[name=X]"),
        "kubectl-set",
    ),
    "set resources": Case(
        ("set", "resources", WEB, "--limits=cpu=2"),
        (f"{TEMPLATE}/resources/limits",),
        "kubectl-set",
    ),
    "label": Case(("label", WEB, "team=blue"), ("/metadata/labels/team",), "kubectl-label"),
    "annotate": Case(
        ("annotate", WEB, "note=hello"), ("/metadata/annotations/note",), "kubectl-annotate"
    ),
    # A Scale has no managed fields, and kubectl names no manager: nothing tells.
    "scale": Case(("scale", WEB, "--replicas=9"), ("/spec/replicas",), ""),
    "rollout pause": Case(("rollout", "pause", WEB), ("/spec/paused",), "kubectl-rollout"),
    "delete": Case(("delete", WEB), (), ""),
    "delete by selector": Case(("delete", "deployment", "-l", f"{FLUX_NAME}=shop"), (), ""),
    "delete all": Case(("delete", "deployment", "--all"), (), ""),
    "delete, leaving orphans": Case(("delete", WEB, "--cascade=orphan"), (), ""),
    "delete by force": Case(("delete", WEB, "--force", "--grace-period=0"), (), ""),
    "take the mark off": Case(
        ("label", WEB, f"{FLUX_NAME}-", f"{FLUX_NAMESPACE}-"),
        ("/metadata/labels",),
        "kubectl-label",
    ),
    "change the mark": Case(
        ("label", WEB, "--overwrite", f"{FLUX_NAME}=mine"),
        (f"/metadata/labels/{FLUX_NAME.replace('/', '~1')}",),
        "kubectl-label",
    ),
    "choose the controller's field manager": Case(
        (*patch("merge", {"spec": {"replicas": 0}}), "--field-manager=kustomize-controller"),
        ("/spec/replicas",),
        "kustomize-controller",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DENIED.values(), ids=DENIED)
def test_write_is_denied_recorded_and_changes_nothing(guard: Guard, shop: str, case: Case) -> None:
    before = guard.cluster.get(WEB, "-n", shop)
    result = run(guard.cluster.as_("developer"), shop, case)
    assert result.returncode != 0
    assert f"Deployment {shop}/web" in result.stderr
    assert "Flux Kustomization flux-system/shop" in result.stderr
    after = guard.cluster.get(WEB, "-n", shop)
    assert (after["spec"], after["metadata"]["labels"]) == (
        before["spec"],
        before["metadata"]["labels"],
    )
    record = guard.records_in(shop)[-1]
    assert (record.verdict, record.actor, record.manager) == ("deny", "developer", case.manager)
    assert tuple(change.path for change in record.changes) == case.paths
    assert all(path in result.stderr for path in case.paths)


def config_map(metadata: Manifest) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def run(person: Caller, namespace: str, case: Case) -> Result:
    return person.kubectl(
        *case.command, "-n", namespace, editor=case.edit, stdin=case.stdin, check=False
    )


def test_impersonating_write_is_decided_as_the_impersonated_user(guard: Guard, shop: str) -> None:
    posing = guard.cluster.as_("admin").kubectl(
        "scale", WEB, "--replicas=9", "-n", shop, "--as=developer", "--as-group=developers",
        check=False,
    )  # fmt: skip
    assert "is refused" in posing.stderr
    assert guard.records_in(shop)[-1].actor == "developer"


def test_write_as_an_impersonated_controller_is_allowed_and_only_in_the_audit_log(
    guard: Guard, shop: str
) -> None:
    """Kubernetes' own `edit` role allows it; only the audit log knows who it really was."""
    account = "system:serviceaccount:flux-system:kustomize-controller"
    guard.cluster.as_("developer").kubectl("label", WEB, "a=b", "-n", shop, f"--as={account}")
    assert guard.records_in(shop) == []
    [event] = [
        event
        for event in guard.cluster.audit_events()
        if event.get("impersonatedUser") and event["objectRef"].get("namespace") == shop
        if event["verb"] == "patch"
    ]
    assert (event["user"]["username"], event["impersonatedUser"]["username"]) == (
        "developer",
        account,
    )


def test_a_rollout_restart_is_allowed_and_recorded(guard: Guard, shop: str) -> None:
    guard.cluster.as_("developer").kubectl("rollout", "restart", WEB, "-n", shop)
    [record] = guard.records_in(shop)
    assert (record.verdict, record.clause) == ("allow", "benign")


def test_a_rollout_undo_is_denied(guard: Guard, flux_account: Caller, shop: str) -> None:
    newer = by_flux(deployment("web", shop), "shop")
    container = newer["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "registry.example/web:2"
    deploy(flux_account, newer)
    revisions = "deployment.kubernetes.io/revision"
    eventually(
        lambda: guard.cluster.get(WEB, "-n", shop)["metadata"]["annotations"][revisions] == "2",
        "the second revision",
    )
    denied = guard.cluster.as_("developer").kubectl("rollout", "undo", WEB, "-n", shop, check=False)
    assert f"{TEMPLATE}/image" in denied.stderr
    assert guard.records_in(shop)[-1].manager == "kubectl"


def test_added_autoscaler_can_change_the_replicas(guard: Guard, shop: str) -> None:
    guard.cluster.as_("developer").kubectl("autoscale", WEB, "--min=4", "--max=6", "-n", shop)
    eventually(
        lambda: guard.cluster.get(WEB, "-n", shop)["spec"]["replicas"] == 4,
        "the autoscaler raised the replicas",
        seconds=60,
    )
    assert guard.records_in(shop) == []


def test_creation_with_forged_marks_is_denied(guard: Guard, namespace: str) -> None:
    forged = by_flux(deployment("evil", namespace), "shop")
    denied = guard.cluster.as_("developer").kubectl("create", "-f", "-", stdin=forged, check=False)
    assert "claims to be managed by Flux Kustomization flux-system/shop" in denied.stderr
    assert "NotFound" in guard.cluster.as_("admin").kubectl(
        "get", "deployment/evil", "-n", namespace, check=False
    ).stderr  # fmt: skip


def test_marking_an_unmanaged_object_is_denied(guard: Guard, namespace: str) -> None:
    developer = guard.cluster.as_("developer")
    developer.kubectl("create", "-f", "-", stdin=deployment("web", namespace))
    denied = developer.kubectl(
        "label", WEB, f"{FLUX_NAME}=shop", f"{FLUX_NAMESPACE}=flux-system", "-n", namespace,
        check=False,
    )  # fmt: skip
    assert "for Flux Kustomization flux-system/shop to change" in denied.stderr


@pytest.mark.parametrize(
    "command",
    [("set", "image", WEB, "app=x", "--dry-run=server"), ("diff", "-f", "-")],
    ids=["dry run", "diff"],
)
def test_dry_run_and_diff_are_warned_about_and_not_recorded(
    guard: Guard, shop: str, command: tuple[str, ...]
) -> None:
    tried = guard.cluster.as_("developer").kubectl(
        *command, "-n", shop, stdin=changed(replicas=7), check=False
    )
    assert "Warning: Deployment" in tried.stderr
    assert "would be refused" in tried.stderr
    assert "denied" not in tried.stderr
    assert guard.records_in(shop) == []


def test_a_debug_container_in_flux_s_pod_is_denied(
    guard: Guard, flux_account: Caller, namespace: str
) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {"containers": [{"name": "app", "image": "registry.example/one:1"}]},
    }
    deploy(flux_account, by_flux(pod, "shop"))
    denied = guard.cluster.as_("developer").kubectl(
        "debug", "one", "--image=registry.example/sh", "-c=debug", "-n", namespace, check=False
    )
    assert "/spec/ephemeralContainers" in denied.stderr
    assert guard.records_in(namespace)[-1].subresource == "ephemeralcontainers"


def test_deletion_of_a_collection_is_denied_per_object(guard: Guard, shop: str) -> None:
    """The API server asks once for each, with an empty name."""
    url = f"/apis/apps/v1/namespaces/{shop}/deployments"
    denied = guard.cluster.as_("developer").kubectl("delete", "--raw", url, check=False)
    assert "is managed by Flux" in denied.stderr
    assert guard.records_in(shop)[-1].name == "web"


def test_pod_of_a_managed_deployment_can_be_deleted(guard: Guard, shop: str) -> None:
    """Their controller makes them anew: deleting one is how people restart it."""
    pods = eventually(lambda: guard.cluster.get("pods", "-n", shop)["items"], "pods")
    name = pods[0]["metadata"]["name"]
    guard.cluster.as_("developer").kubectl("delete", "pod", name, "-n", shop, "--wait=false")


class TestSystemControllers:
    def test_garbage_collector_can_delete_guarded_objects(
        self, guard: Guard, flux_account: Caller, namespace: str
    ) -> None:
        admin = guard.cluster.as_("admin")
        admin.kubectl("create", "configmap", "parent", "-n", namespace)
        uid = guard.cluster.get("configmap/parent", "-n", namespace)["metadata"]["uid"]
        parent = {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": uid}
        metadata = {"name": "child", "namespace": namespace, "ownerReferences": [parent]}
        deploy(flux_account, by_flux(config_map(metadata), "shop"))
        admin.kubectl("delete", "configmap/parent", "-n", namespace)
        look = ("get", "configmap/child", "-n", namespace)
        eventually(
            lambda: "NotFound" in admin.kubectl(*look, check=False).stderr,
            "the child was collected",
            seconds=60,
        )

    def test_a_namespace_with_guarded_objects_can_be_deleted(
        self, guard: Guard, flux_account: Caller
    ) -> None:
        admin = guard.cluster.as_("admin")
        admin.kubectl("create", "namespace", "doomed")
        deploy(flux_account, by_flux(deployment("web", "doomed"), "shop"))
        admin.kubectl("delete", "namespace", "doomed", "--timeout=60s")

    def test_finalizer_can_be_removed_from_a_deleted_object(
        self, guard: Guard, flux_account: Caller, namespace: str
    ) -> None:
        metadata = {"name": "it", "namespace": namespace, "finalizers": ["example.com/wait"]}
        deploy(flux_account, by_flux(config_map(metadata), "shop"))
        flux_account.kubectl("delete", "configmap/it", "-n", namespace, "--wait=false")
        guard.cluster.as_("developer").kubectl(
            "patch", "configmap/it", "-n", namespace, "--type=merge",
            "-p", '{"metadata": {"finalizers": null}}',
        )  # fmt: skip
        assert guard.records_in(namespace) == []
