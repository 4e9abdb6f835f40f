"""Install, doctor and uninstall, on a cluster of its own: the registration is cluster-wide."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from certs.configurations import OURS
from glasswarden.cluster.client import ApiServer
from tests.cluster.api import api_server
from tests.cluster.applications import by_flux, deployment
from tests.cluster.catalogue import KUSTOMIZE_CONTROLLER
from tests.cluster.conftest import skip_unless_built
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN, guarding
from tests.cluster.retries import eventually
from tests.cluster.test_manifests import MANIFESTS, OVERLAYS, apply, build

NAMESPACE = "glasswarden"


@pytest.fixture(scope="module")
def cluster(_programs: None) -> Iterator[ControlPlane]:
    """Return a control plane that nobody else's objects are on."""
    with ControlPlane() as running:
        yield running


@pytest.fixture
def objects(cluster: ControlPlane) -> ApiServer:
    return api_server(cluster.kubeconfig("admin"))


@pytest.fixture
def _from_nothing(objects: ApiServer) -> Iterator[None]:
    yield
    core = f"/api/v1/namespaces/{NAMESPACE}/secrets"
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
    secrets = (f"{core}/glasswarden-certs", f"{core}/glasswarden-caller")
    for path in (*(each.path for each in OURS), f"{slices}/glasswarden-test", *secrets):
        objects.delete(path)


def glasswarden(cluster: ControlPlane, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*GLASSWARDEN, *arguments, "--kubeconfig", str(cluster.kubeconfig("admin"))]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def endpoint_slice() -> dict[str, Any]:
    """Return what a ready webhook pod would lead to; there is no node to run it on."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "glasswarden-test",
            "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": "glasswarden"},
        },
        "addressType": "IPv4",
        "ports": [{"name": "https", "port": 8443}],
        "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}],
    }


def healths(output: str) -> dict[str, str]:
    """Return what the doctor said of each subject."""
    lines = [line.split() for line in output.splitlines() if not line.startswith(" ")]
    return {words[1]: words[0] for words in lines}


def test_doctor_finds_a_running_webhook_healthy(cluster: ControlPlane, tmp_path: Path) -> None:
    with guarding(cluster, tmp_path, "mode: audit\n") as guard:
        where = ("--certs", str(guard.certificates.path), "--policy", str(guard.policy))
        examined = glasswarden(cluster, "doctor", *where, "--ledger", guard.ledger)
    assert examined.returncode == 0, examined.stdout
    assert set(healths(examined.stdout).values()) == {"OK"}
    assert healths(examined.stdout).keys() == {
        "clock",
        "certificate",
        "policy",
        "registration",
        "conditions",
        "caBundle",
        "endpoints",
        "reachability",
        "webhook-clock",
        "served",
        "rules",
        "recording",
        "ledger",
        "chains",
        "disk",
    }


def test_doctor_finds_an_unavailable_webhook_unhealthy(
    cluster: ControlPlane, objects: ApiServer, tmp_path: Path
) -> None:
    with guarding(cluster, tmp_path) as guard:
        left = objects.get(OURS[0].path)
        where = ("--certs", str(guard.certificates.path), "--policy", str(guard.policy))
    left["metadata"] = {key: left["metadata"][key] for key in ("name", "annotations")}
    objects.create(OURS[0].path.rpartition("/")[0], left)
    examined = glasswarden(cluster, "doctor", *where)
    objects.delete(OURS[0].path)
    assert examined.returncode == 1
    assert healths(examined.stdout)["reachability"] == "FAIL"
    assert "connection refused" in examined.stdout


def test_doctor_reports_that_nothing_is_installed(cluster: ControlPlane) -> None:
    examined = glasswarden(cluster, "doctor", "--namespace", "nowhere")
    assert examined.returncode == 1
    assert "nothing is guarded" in examined.stdout
    assert "Traceback" not in examined.stderr


@pytest.mark.usefixtures("_from_nothing")
class TestInstall:
    """The steps of docs/install.md, in their order, each rejected before its time."""

    def test_install_registers_and_uninstall_removes(
        self, cluster: ControlPlane, objects: ApiServer
    ) -> None:
        overlay = build(cluster, MANIFESTS / "overlays" / "standalone")
        apply(cluster, overlay)
        early = glasswarden(cluster, "install", "--apply")
        assert "is the certificate controller running?" in early.stderr

        place = ("--secret", f"{NAMESPACE}/glasswarden-certs")
        glasswarden(cluster, "certs", "issue", *place, "--host", "glasswarden.glasswarden.svc")
        early = glasswarden(cluster, "install", "--apply")
        assert "no webhook is ready" in early.stderr
        assert objects.get_or_none(OURS[0].path) is None

        cluster.apply(endpoint_slice())
        rehearsed = glasswarden(cluster, "install", "--dry-run")
        assert "create validatingwebhookconfigurations/glasswarden" in rehearsed.stdout
        assert objects.get_or_none(OURS[0].path) is None

        done = glasswarden(cluster, "install", "--apply")
        assert done.returncode == 0, done.stderr
        again = glasswarden(cluster, "install", "--dry-run")
        assert "is as it should be" in again.stdout
        assert_doctor_sees_the_missing_pod(cluster)
        assert_uninstalled(cluster, objects)

    def test_secret_of_cert_manager_is_recognized(
        self, cluster: ControlPlane, objects: ApiServer
    ) -> None:
        """cert-manager itself is not needed for that: it leaves its name on the Secret."""
        apply(cluster, build(cluster, MANIFESTS / "overlays" / "standalone"))
        cluster.apply(endpoint_slice())
        place = ("--secret", f"{NAMESPACE}/glasswarden-certs")
        glasswarden(cluster, "certs", "issue", *place, "--host", "glasswarden.glasswarden.svc")
        admin, secret = cluster.as_("admin"), ("secret/glasswarden-certs", "-n", NAMESPACE)
        admin.kubectl("annotate", *secret, "cert-manager.io/certificate-name=glasswarden")
        admin.kubectl("patch", *secret, "-p", '{"data": {"caller-token": null}}')
        before = cluster.get(*secret)["data"]
        for act in (["rotate"], ["issue", "--host", "glasswarden.glasswarden.svc"]):
            refused = glasswarden(cluster, "certs", *act, *place)
            assert refused.returncode == 1
            assert "cert-manager keeps" in refused.stderr
        assert cluster.get(*secret)["data"] == before
        early = glasswarden(cluster, "install", "--apply")
        assert "glasswarden-caller holds a caller-token" in early.stderr
        token = ("secret", "generic", "glasswarden-caller", "--from-literal=caller-token=c0ffee")
        admin.kubectl("create", *token, "-n", NAMESPACE)
        done = glasswarden(cluster, "install", "--apply")
        assert done.returncode == 0, done.stderr
        found = objects.get(OURS[0].path)
        glasswarden(cluster, "uninstall", "--yes")
        source = found["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
        assert source == f"{NAMESPACE}/glasswarden"
        for entry in found["webhooks"]:
            assert entry["clientConfig"]["service"]["path"] == "/validate/c0ffee"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_uninstall_leaves_no_object_of_an_overlay(cluster: ControlPlane, overlay: str) -> None:
    manifests = build(cluster, MANIFESTS / "overlays" / overlay)
    apply(cluster, manifests)
    assert there(cluster, manifests)
    done = glasswarden(cluster, "uninstall", "--yes")
    assert done.returncode == 0, done.stderr
    assert there(cluster, manifests) == []


def test_deletion_by_kubectl_keeps_the_volumes(cluster: ControlPlane) -> None:
    """The last line of docs/install.md: the namespace stays, and so do the volumes in it."""
    overlay = MANIFESTS / "overlays" / "standalone"
    manifests = build(cluster, overlay)
    apply(cluster, manifests)
    claim = ("persistentvolumeclaim/state-glasswarden-webhook-0", "-n", NAMESPACE)
    admin = cluster.as_("admin")
    look = ("get", *claim, "--ignore-not-found", "-o", "name")
    eventually(lambda: admin.kubectl(*look).stdout, "the volume")
    spare = ("-l", "app.kubernetes.io/component!=evidence")
    admin.kubectl("delete", "-k", str(overlay), *spare)
    assert there(cluster, manifests) == []
    assert cluster.get("namespace", NAMESPACE)["status"]["phase"] == "Active"
    assert "deletionTimestamp" not in cluster.get(*claim)["metadata"]


def test_uninstall_reports_what_it_could_not_list(cluster: ControlPlane) -> None:
    """Somebody who may remove the registration, and no more, must not believe all is deleted."""
    account = cluster.service_account("default", "remover", None)
    rule = (
        "--verb=get,list,delete",
        "--resource=validatingwebhookconfigurations,mutatingwebhookconfigurations",
        "--resource=validatingadmissionpolicies,validatingadmissionpolicybindings",
        "--resource=clusterrolebindings.rbac.authorization.k8s.io",
    )
    admin = cluster.as_("admin")
    admin.kubectl("create", "clusterrole", "remover", *rule)
    bound = ("--clusterrole=remover", "--serviceaccount=default:remover")
    admin.kubectl("create", "clusterrolebinding", "remover", *bound)
    command = [*GLASSWARDEN, "uninstall", "--yes", "--kubeconfig", str(account.kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "Nothing of Glasswarden can stop a write now." in done.stdout
    assert "these may still exist:" in done.stderr
    assert "statefulsets: " in done.stderr
    assert "Traceback" not in done.stderr


def there(cluster: ControlPlane, manifests: list[dict[str, Any]]) -> list[str]:
    """Return which of *manifests* are in the cluster; the namespace is to stay."""
    asked = [each for each in manifests if each["kind"] != "Namespace"]
    arguments = ("get", "-f", "-", "--ignore-not-found", "-o", "name")
    return cluster.as_("admin").kubectl(*arguments, stdin=asked).stdout.split()


def assert_doctor_sees_the_missing_pod(cluster: ControlPlane) -> None:
    """All is as it should be, but nobody answers: the API server itself says so."""
    found = healths(glasswarden(cluster, "doctor").stdout)
    assert found.pop("reachability") == "FAIL"
    assert {found.pop("metrics"), found.pop("correlator")} == {"WARN"}
    assert set(found.values()) == {"OK"}


def assert_uninstalled(cluster: ControlPlane, objects: ApiServer) -> None:
    developer = cluster.as_("developer")
    cluster.as_("admin").kubectl("create", "namespace", "shop")
    manifest = by_flux(deployment("web", "shop"), "shop")
    blocked = developer.kubectl("create", "-f", "-", stdin=manifest, check=False)
    assert "failed calling webhook" in blocked.stderr
    done = glasswarden(cluster, "uninstall", "--yes")
    assert done.returncode == 0, done.stderr
    assert "Nothing of Glasswarden can stop a write now." in done.stdout
    developer.kubectl("create", "-f", "-", stdin=manifest)
    first, *_ = done.stdout.splitlines()
    assert first == "removed validatingwebhookconfigurations/glasswarden"
    assert there(cluster, build(cluster, MANIFESTS / "overlays" / "standalone")) == []
    # Records are evidence; those that other tests left too.
    claims = objects.get(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims")["items"]
    assert "state-glasswarden-webhook-0" in {each["metadata"]["name"] for each in claims}


def test_uninstall_reports_a_configuration_under_another_name(
    cluster: ControlPlane, objects: ApiServer, tmp_path: Path
) -> None:
    with guarding(cluster, tmp_path):
        left = objects.get(OURS[0].path)
    left["metadata"] = {"name": "copied-by-somebody"}
    collection = OURS[0].path.rpartition("/")[0]
    objects.create(collection, left)
    done = glasswarden(cluster, "uninstall", "--registration-only", "--yes")
    objects.delete(f"{collection}/copied-by-somebody")
    assert done.returncode == 1
    assert "kubectl delete validatingwebhookconfigurations/copied-by-somebody" in done.stderr


def running_as(name: str, namespace: str, account: str) -> dict[str, Any]:
    """Return a Deployment called *name*, by its label too, that runs under a service account."""
    manifest = deployment(name, namespace)
    manifest["metadata"]["labels"] = {"app.kubernetes.io/name": name}
    manifest["spec"]["template"]["spec"]["serviceAccountName"] = account
    return manifest


def test_init_proposes_a_policy_from_the_cluster(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": namespace},
        "data": {"application.resourceTrackingMethod": "annotation+label", "installationID": "eu"},
    }
    controller = "argocd-application-controller"
    marked = by_flux(deployment("web", namespace), "shop")
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    }
    cluster.apply([settings, running_as(controller, namespace, "argo"), autoscaler])
    cluster.apply(running_as("cainjector", namespace, "injector"))
    admin = cluster.as_("admin")
    flux = ("--field-manager=kustomize-controller", "-f", "-")
    admin.kubectl("apply", "--server-side", *flux, stdin=marked)
    image = '{"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "x:2"}]}}}}'
    robot = ("--field-manager=image-robot", "-n", namespace)
    admin.kubectl("patch", "deployment/web", "-p", image, *robot)
    policy = tmp_path / "policy.yaml"
    done = glasswarden(cluster, "init", "--output", str(policy))
    assert done.returncode == 0, done.stderr
    text = policy.read_text()
    assert "tracking: annotation+label" in text
    assert f"system:serviceaccount:{namespace}:argo" in text
    assert f"system:serviceaccount:{namespace}:injector" in text
    assert re.search(r"marked objects were seen: \d+ of flux", text)
    assert re.search(r"\d+ autoscalers", text)
    assert "image-robot owns fields of 1 objects" in text
    assert "/spec/template/spec/containers[name=app]/image" in text
    checked = subprocess.run([*GLASSWARDEN, "policy", "check", str(policy)], check=False)
    assert checked.returncode == 0


def test_init_does_not_overwrite_an_existing_policy(cluster: ControlPlane, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("mine")
    done = glasswarden(cluster, "init", "--output", str(tmp_path / "policy.yaml"))
    assert done.returncode == 1
    assert (tmp_path / "policy.yaml").read_text() == "mine"


def test_init_reports_what_the_proposal_would_have_denied(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    manifest = by_flux(deployment("web", namespace), "shop")
    admin, developer = cluster.as_("admin"), cluster.as_("developer")
    admin.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    developer.kubectl("set", "image", "deployment/web", "app=x", "-n", namespace)
    log = tmp_path / "audit.log"
    log.write_text("".join(json.dumps(event) + "\n" for event in cluster.audit_events()))
    policy = tmp_path / "policy.yaml"
    arguments = ("--output", str(policy), "--audit-log", str(log), "--days", "7")
    done = glasswarden(cluster, "init", *arguments)
    assert done.returncode == 0, done.stderr
    assert "In the last 7 days: " in done.stdout
    assert "would have been denied" in done.stdout
    assert re.search(rf"developer .* Deployment in {namespace} of flux shop", done.stdout)


@pytest.mark.gitops  # for Flux's definitions
def test_init_finds_the_tenants_of_flux(cluster: ControlPlane, namespace: str) -> None:
    skip_unless_built(KUSTOMIZE_CONTROLLER)
    cluster.define(KUSTOMIZE_CONTROLLER.definitions)
    kustomization = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "shop", "namespace": namespace},
        "spec": {
            "interval": "5m",
            "prune": True,
            "serviceAccountName": "tenant",
            "sourceRef": {"kind": "GitRepository", "name": "shop"},
        },
    }
    cluster.apply(kustomization)
    printed = glasswarden(cluster, "init").stdout
    reason = "# spec.serviceAccountName of a Kustomization or HelmRelease"
    assert f"- system:serviceaccount:{namespace}:tenant  {reason}" in printed
