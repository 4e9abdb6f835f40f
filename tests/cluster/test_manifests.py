"""Every manifest, built by the real kustomize and applied to a real API server.

Strict field validation refuses a misspelt field; Pod Security `restricted`, which the manifests
themselves switch on, refuses a pod that asks for more than it should. What the programs may do is
what RBAC says they may, with the service accounts of the manifests.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.applications import by_flux, deployment
from tests.cluster.conftest import nothing_is_skipped
from tests.cluster.controlplane import ControlPlane, all_established
from tests.cluster.correlating import episodes, start_correlator
from tests.cluster.definitions import CERT_MANAGER, PROMETHEUS_OPERATOR, DefinitionsOutOfReach
from tests.cluster.guard import guarding
from tests.cluster.kubectl import Caller
from tests.cluster.retries import eventually

MANIFESTS = Path(__file__).parents[2] / "manifests"
OVERLAYS = sorted(path.name for path in (MANIFESTS / "overlays").iterdir())
COMPONENTS = sorted(path.name for path in (MANIFESTS / "components").iterdir())
NAMESPACE = "glasswarden"

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def cluster(_programs: None) -> Iterator[ControlPlane]:
    """Return a control plane that nobody else's objects are on: ours are cluster-wide."""
    with ControlPlane() as running:
        yield running


@pytest.fixture(scope="module")
def _definitions(cluster: ControlPlane) -> None:
    try:
        files = [f"--filename={path}" for path in CERT_MANAGER.paths()]
        files += [f"--filename={path}" for path in PROMETHEUS_OPERATOR.paths()]
    except DefinitionsOutOfReach as error:
        (pytest.fail if nothing_is_skipped() else pytest.skip)(f"NOT TESTED: {error}")
    cluster.as_("admin").kubectl("apply", "--server-side", *files)
    eventually(lambda: all_established(cluster.get(*files)), "the definitions")


def build(cluster: ControlPlane, folder: Path) -> list[Manifest]:
    """Return what kustomize makes of *folder*."""
    built = cluster.as_("admin").kubectl("kustomize", str(folder))
    return [each for each in yaml.safe_load_all(built.stdout) if each]


def with_component(folder: Path, *components: str) -> Path:
    """Write a kustomization that adds *components*, as a user would."""
    # The overlays have the first already; the second is nothing without the correlator.
    bases = {"network-policy": ("base",), "audit-intake": ("overlays", "ha")}
    onto = bases.get(components[0], ("overlays", "standalone"))

    def beside(*parts: str) -> str:
        return os.path.relpath(MANIFESTS.joinpath(*parts), folder)

    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": NAMESPACE,
        "resources": [beside(*onto)],
        "components": [beside("components", each) for each in components],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(document))
    return folder


def apply(cluster: ControlPlane, manifests: list[Manifest]) -> None:
    """Apply *manifests* as a person does, with every field checked."""
    arguments = ("apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-")
    namespaces = [each for each in manifests if each["kind"] == "Namespace"]
    cluster.as_("admin").kubectl(*arguments, stdin=namespaces)
    cluster.as_("admin").kubectl(*arguments, stdin=manifests)


WORKLOADS = ("Deployment", "StatefulSet")


def workloads(manifests: list[Manifest]) -> dict[str, Manifest]:
    return {each["metadata"]["name"]: each for each in manifests if each["kind"] in WORKLOADS}


def remove_workloads(cluster: ControlPlane) -> None:
    kinds = ",".join(WORKLOADS)
    cluster.as_("admin").kubectl("delete", kinds, "--all", "-n", NAMESPACE)


def pods(cluster: ControlPlane, component: str) -> list[Manifest]:
    selector = f"-l=app.kubernetes.io/component={component}"
    found: list[Manifest] = cluster.get("pods", "-n", NAMESPACE, selector)["items"]
    return found


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_applied_and_its_pods_are_admitted(
    cluster: ControlPlane, overlay: str
) -> None:
    manifests = build(cluster, MANIFESTS / "overlays" / overlay)
    apply(cluster, manifests)
    for name, manifest in workloads(manifests).items():
        component = name.removeprefix("glasswarden-")
        wanted = manifest["spec"]["replicas"]
        eventually(lambda: len(pods(cluster, component)) >= wanted, f"pods of {name}")  # noqa: B023
    remove_workloads(cluster)


@pytest.mark.usefixtures("_definitions")
@pytest.mark.parametrize("component", COMPONENTS)
def test_component_can_be_applied_on_an_overlay(
    cluster: ControlPlane, tmp_path: Path, component: str
) -> None:
    manifests = build(cluster, with_component(tmp_path, component))
    apply(cluster, manifests)
    remove_workloads(cluster)


def test_pod_security_denies_a_pod_without_a_security_context(cluster: ControlPlane) -> None:
    """Without it the tests above would prove nothing."""
    manifests = build(cluster, MANIFESTS / "overlays" / "standalone")
    apply(cluster, [each for each in manifests if each["kind"] == "Namespace"])
    careless = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "careless", "namespace": NAMESPACE},
        "spec": {"containers": [{"name": "app", "image": "registry.example/app"}]},
    }
    refused = cluster.as_("admin").kubectl("create", "-f", "-", stdin=careless, check=False)
    assert "violates PodSecurity" in refused.stderr


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_container_has_a_read_only_root_limits_and_probes(
    cluster: ControlPlane, overlay: str
) -> None:
    manifests = build(cluster, MANIFESTS / "overlays" / overlay)
    for manifest in workloads(manifests).values():
        spec = manifest["spec"]["template"]["spec"]
        assert spec["priorityClassName"] == "glasswarden"
        [container] = spec["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["limits"]["memory"]
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
        assert container["livenessProbe"]
        assert container["readinessProbe"]
        assert ":" in container["image"].rpartition("/")[2], "an image without a version"


def test_webhook_on_sqlite_is_a_statefulset_of_one_pod(cluster: ControlPlane) -> None:
    """Of a StatefulSet's pods no second one starts while the first may still run."""
    webhook = workloads(build(cluster, MANIFESTS / "overlays" / "standalone"))[
        "glasswarden-webhook"
    ]
    assert (webhook["kind"], webhook["spec"]["replicas"]) == ("StatefulSet", 1)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_spool_and_sqlite_ledger_are_on_a_persistent_volume(
    cluster: ControlPlane, overlay: str
) -> None:
    """Records that wait for the database, and the database where it is a file."""
    webhook = workloads(build(cluster, MANIFESTS / "overlays" / overlay))["glasswarden-webhook"]
    spec = webhook["spec"]["template"]["spec"]
    [container] = spec["containers"]
    settings = {each["name"]: each.get("value", "") for each in container["env"]}
    claimed = {each["metadata"]["name"] for each in webhook["spec"]["volumeClaimTemplates"]}
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    kept = [settings["GLASSWARDEN_SPOOL"]]
    kept += [settings["GLASSWARDEN_LEDGER"].removeprefix("sqlite://")] if overlay != "ha" else []
    for path in kept:
        [volume] = [name for mount, name in mounts.items() if path.startswith(f"{mount}/")]
        assert volume in claimed


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_object_of_an_overlay_has_the_label(cluster: ControlPlane, overlay: str) -> None:
    """`glasswarden uninstall` finds the parts by it."""
    assert unlabelled(build(cluster, MANIFESTS / "overlays" / overlay)) == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_object_of_a_component_has_the_label(
    cluster: ControlPlane, tmp_path: Path, component: str
) -> None:
    assert unlabelled(build(cluster, with_component(tmp_path, component))) == []


def test_audit_events_reach_the_intake_through_service_and_network_policies(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """They are stored in a folder that is writable and persistent."""
    built = build(cluster, with_component(tmp_path, "audit-intake"))
    named = {(each["kind"], each["metadata"]["name"]): each for each in built}
    spec = workloads(built)["glasswarden-correlator"]["spec"]["template"]["spec"]
    [container] = spec["containers"]
    settings = {each["name"]: each.get("value") for each in container["env"]}
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    [port] = named["Service", "glasswarden-audit"]["spec"]["ports"]
    [rule] = named["NetworkPolicy", "glasswarden-audit"]["spec"]["ingress"]
    [allowed] = rule["ports"]
    assert settings["GLASSWARDEN_AUDIT_LISTEN"] == f"0.0.0.0:{ports[port['targetPort']]}"
    assert allowed["port"] == ports[port["targetPort"]]
    volumes = {each["name"]: each for each in spec["volumes"]}
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    folder = mounts[settings["GLASSWARDEN_AUDIT_FOLDER"]]
    assert not folder.get("readOnly")
    claim = volumes[folder["name"]]["persistentVolumeClaim"]["claimName"]
    assert ("PersistentVolumeClaim", claim) in named
    assert settings["GLASSWARDEN_AUDIT_CERTS"] in mounts
    assert str(Path(settings["GLASSWARDEN_AUDIT_TOKENS"]).parent) in mounts


def test_cert_manager_component_drops_the_alerts_of_the_certificate_controller(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    built = build(cluster, with_component(tmp_path, "prometheus", "cert-manager"))
    rules = [each for each in built if each["kind"] == "PrometheusRule"]
    assert [each["metadata"]["name"] for each in rules] == ["glasswarden"]
    assert "glasswarden_certs_" not in json.dumps(rules)


def unlabelled(manifests: list[Manifest]) -> list[str]:
    return [
        f"{each['kind']}/{each['metadata']['name']}"
        for each in manifests
        if (each["metadata"].get("labels") or {}).get("app.kubernetes.io/name") != "glasswarden"
    ]


def test_audit_only_overlay_denies_nothing(cluster: ControlPlane) -> None:
    [policy] = [
        each["data"]["policy.yaml"]
        for each in build(cluster, MANIFESTS / "overlays" / "audit-only")
        if each["kind"] == "ConfigMap"
    ]
    rules = yaml.safe_load(policy)
    assert (rules["mode"], rules["reconcilers"]) == ("audit", "audit")


@pytest.fixture(scope="module")
def webhook_account(cluster: ControlPlane) -> Caller:
    """Return the webhook's service account, with the rights that the manifests give it."""
    manifests = build(cluster, MANIFESTS / "overlays" / "standalone")
    apply(cluster, [each for each in manifests if each["kind"] not in WORKLOADS])
    return cluster.service_account(NAMESPACE, "glasswarden-webhook")


def test_webhook_works_with_the_rights_of_the_manifests(
    cluster: ControlPlane,
    webhook_account: Caller,
    namespace: str,
    tmp_path: Path,
) -> None:
    """A `scale` is the case for which it has to ask the API server."""
    manifest = by_flux(deployment("web", namespace), "shop")
    flux = cluster.service_account("flux-system", "kustomize-controller", "cluster-admin")
    flux.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    with guarding(cluster, tmp_path, account=webhook_account):
        scale = ("scale", "deployment/web", "--replicas=9", "-n", namespace)
        denied = cluster.as_("developer").kubectl(*scale, check=False)
        edit = ("set", "image", "deployment/web", "app=x", "-n", namespace)
        also = cluster.as_("developer").kubectl(*edit, check=False)
    assert "is managed by Flux" in denied.stderr
    assert "is managed by Flux" in also.stderr


@pytest.fixture(scope="module")
def correlator_account(cluster: ControlPlane) -> Caller:
    """Return the correlator's service account, with the rights that the manifests give it."""
    manifests = build(cluster, MANIFESTS / "overlays" / "ha")
    apply(cluster, [each for each in manifests if each["kind"] not in WORKLOADS])
    return cluster.service_account(NAMESPACE, "glasswarden-correlator")


def test_correlator_works_with_the_rights_of_the_manifests(
    cluster: ControlPlane, correlator_account: Caller, namespace: str, tmp_path: Path
) -> None:
    """It leads, compares, sees an edit by its watch, and reports which kinds it may not list."""
    git = tmp_path / "git"
    git.mkdir()
    web = deployment("web", namespace)
    token = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}}
    (git / "web.json").write_text(json.dumps(web))
    (git / "token.json").write_text(json.dumps(token))
    flux = cluster.service_account("flux-system", "kustomize-controller", "cluster-admin")
    apply = ("apply", "--server-side", "--field-manager=kustomize-controller", "-f", "-")
    flux.kubectl(*apply, stdin=by_flux(web, "rights"))
    ledger = f"sqlite://{tmp_path}/ledger.db"
    options = ("--git", str(git), "--lease", f"{NAMESPACE}/glasswarden-correlator")
    with cluster.new_processes() as processes:
        one = start_correlator(
            processes, "one", correlator_account.kubeconfig, ledger, *options, "--interval", "1h"
        )
        assert one.leads
        unseen = one.metric("glasswarden_findings_incomplete")
        cluster.as_("admin").kubectl("scale", "deployment/web", "--replicas=9", "-n", namespace)
        fields = eventually(
            lambda: {
                each.last.field: each.last.live
                for each in episodes(ledger)
                if each.last.namespace == namespace
            },
            "the edit to be found",
        )
    assert fields == {"/spec/replicas": "9"}
    assert unseen


ADMISSION = "admissionregistration.k8s.io"


@pytest.mark.usefixtures("webhook_account")
@pytest.mark.parametrize(
    ("verb", "group", "resource", "allowed"),
    [
        ("get", "apps", "deployments", True),
        ("watch", "apps", "statefulsets", True),
        ("list", "", "replicationcontrollers", True),
        ("get", "argoproj.io", "applications", True),
        ("get", "kustomize.toolkit.fluxcd.io", "kustomizations", True),
        ("get", "source.toolkit.fluxcd.io", "gitrepositories", True),
        ("create", "events.k8s.io", "events", True),
        ("patch", "events.k8s.io", "events", True),
        ("delete", "events.k8s.io", "events", False),
        ("list", "events.k8s.io", "events", False),
        ("create", "", "events", False),
        ("get", "", "secrets", False),
        ("get", "", "configmaps", False),
        ("list", "", "pods", False),
        ("patch", "apps", "deployments", False),
        ("update", "apps", "deployments/scale", False),
        ("patch", "argoproj.io", "applications", False),
        ("get", ADMISSION, "validatingwebhookconfigurations", False),
        ("create", ADMISSION, "validatingwebhookconfigurations", False),
        ("impersonate", "", "users", False),
        ("create", "authentication.k8s.io", "tokenreviews", False),
    ],
)
def test_webhook_has_exactly_the_rights_it_needs(
    cluster: ControlPlane, verb: str, group: str, resource: str, *, allowed: bool
) -> None:
    assert may(cluster, "glasswarden-webhook", verb, group, resource) is allowed


@pytest.mark.usefixtures("correlator_account")
@pytest.mark.parametrize(
    ("verb", "group", "resource", "allowed"),
    [
        ("list", "apps", "deployments", True),
        ("watch", "", "configmaps", True),
        ("list", "rbac.authorization.k8s.io", "clusterroles", True),
        ("list", "argoproj.io", "applications", True),
        ("list", "kustomize.toolkit.fluxcd.io", "kustomizations", True),
        ("watch", "helm.toolkit.fluxcd.io", "helmreleases", True),
        ("list", "autoscaling", "horizontalpodautoscalers", True),
        ("list", "", "secrets", False),
        ("create", "events.k8s.io", "events", True),
        ("delete", "events.k8s.io", "events", False),
        ("get", "", "secrets", False),
        ("create", "", "pods/exec", False),
        ("get", "", "pods/log", False),
        ("patch", "apps", "deployments", False),
        ("delete", "apps", "deployments", False),
        ("patch", "argoproj.io", "applications", False),
        ("update", "coordination.k8s.io", "leases", False),
        ("patch", ADMISSION, "validatingwebhookconfigurations", False),
        ("impersonate", "", "users", False),
    ],
)
def test_correlator_can_read_declared_kinds_and_write_only_events(
    cluster: ControlPlane, verb: str, group: str, resource: str, *, allowed: bool
) -> None:
    assert may(cluster, "glasswarden-correlator", verb, group, resource) is allowed


def may(cluster: ControlPlane, account: str, verb: str, group: str, resource: str) -> bool:
    """Return what the API server's authorizer says."""
    name, _, subresource = resource.partition("/")
    attributes = {"verb": verb, "group": group, "resource": name, "subresource": subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:{account}",
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": attributes,
        },
    }
    asked = cluster.as_("admin").kubectl("create", "-f", "-", "-o", "json", stdin=review).json()
    allowed: bool = asked["status"]["allowed"]
    return allowed
