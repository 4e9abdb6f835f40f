"""`glasswarden drift` on the real API server."""

import base64
import copy
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from correlator.classify.rule import Scene
from correlator.declared.git import Address
from correlator.declared.read import fingerprint_of, read_declared
from correlator.declared.render import Release
from correlator.detector.detect import Detector
from correlator.inspection.follow import Follower
from correlator.inspection.scan import Scan
from correlator.live.cluster import ClusterLive
from correlator.live.source import Scope
from glasswarden.cli.main import main
from glasswarden.cluster.client import ApiServer
from glasswarden.cluster.kubeconfig import access_from
from glasswarden.kube.objects import Object
from glasswarden.policy.policy import DEFAULT
from tests.cluster.api import Api
from tests.cluster.argocd import APPLICATION, ArgoCD
from tests.cluster.build import programs
from tests.cluster.catalogue import ARGOCD
from tests.cluster.controlplane import ControlPlane
from tests.cluster.drift_exam import (
    deploy,
    expected,
    found,
    marked,
    mutate,
    scanned,
    write_manifests,
)
from tests.cluster.drift_kinds import FLUX, SPECIMENS, cases, definitions, put
from tests.cluster.flux import KUSTOMIZATION, Flux
from tests.cluster.gitrepository import GitRepository
from tests.cluster.people import RBAC_GROUP
from tests.cluster.pki import Authority
from tests.cluster.retries import eventually

PLACEHOLDER, AUTHORITY = (base64.b64encode(Authority().pair.certificate).decode() for _ in range(2))


@pytest.mark.e2e
def test_every_mutation_is_found_and_nothing_else(cluster: ControlPlane, tmp_path: Path) -> None:
    """At least 300 mutations over at least 25 kinds: precision and recall of 100 %."""
    every = list(cases())
    wanted = expected(every)
    assert len({kind for kind, _ in wanted}) >= 300
    assert len({case.manifest["kind"] for case in every}) >= 25

    folder = write_manifests(tmp_path / "git", every)
    api = deploy(cluster, every)
    before = scanned(cluster.kubeconfig("admin"), folder)
    assert (found(before), before.incomplete) == (set(), ())

    mutate(api, every)
    after = scanned(cluster.kubeconfig("admin"), folder)
    assert after.incomplete == ()
    seen = found(after)
    assert (wanted - seen, seen - wanted) == (set(), set())


OWNER = "kustomize-controller"
IMAGE = "/spec/template/spec/containers[name=web]/image"


def a_deployment(namespace: str, **spec: Any) -> Object:  # noqa: ANN401 - any JSON value
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace, "labels": {}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
            },
            **spec,
        },
    }


@pytest.fixture
def git(tmp_path: Path) -> Path:
    folder = tmp_path / "git"
    folder.mkdir()
    return folder


def declare(folder: Path, *objects: Object) -> None:
    for each in objects:
        (folder / f"{each['kind']}-{each['metadata']['name']}.json").write_text(json.dumps(each))


def drift(kubeconfig: Path, git: Path | str, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """Return what `glasswarden drift` prints for programs."""
    command = ["drift", "--git", str(git), "--kubeconfig", str(kubeconfig), "--format", "json"]
    result = CliRunner().invoke(main, [*command, *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def told(result: Any) -> list[tuple[str, ...]]:  # noqa: ANN401 - JSON
    keys = ("field", "class", "cause", "response")
    return [
        (each["object"]["name"], *(str(each[key]) for key in keys)) for each in result["findings"]
    ]


def test_edit_by_hand_is_classified_as_a_persons(
    cluster: ControlPlane, namespace: str, git: Path
) -> None:
    web = a_deployment(namespace)
    declare(git, web)
    Api(cluster.as_("admin")).apply(marked(web), OWNER)
    by_hand = ("set", "image", "deployment/web", "web=registry.example/web:2", "-n", namespace)
    cluster.as_("developer").kubectl(*by_hand)
    cluster.as_("developer").kubectl("set", "env", "deployment/web", "DEBUG=1", "-n", namespace)
    result = drift(cluster.kubeconfig("developer"), git, "-n", namespace)
    person = ("desired-configuration", "person", "auto-heal")
    assert told(result) == [
        ("web", "/spec/template/spec/containers[name=web]/env[name=DEBUG]", *person),
        ("web", IMAGE, *person),
    ]
    assert all(each["since"] for each in result["findings"])


def test_replicas_set_by_an_autoscaler_are_its_own(
    cluster: ControlPlane, namespace: str, git: Path
) -> None:
    web = a_deployment(namespace)
    declare(git, web)
    Api(cluster.as_("admin")).apply(marked(web), OWNER)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    cluster.apply(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 4},
        }
    )

    def replicas() -> int:
        return int(cluster.get("deployment/web", "-n", namespace)["spec"]["replicas"])

    eventually(lambda: replicas() == 2, "the autoscaler to scale", seconds=90)
    result = drift(cluster.kubeconfig("admin"), git, "-n", namespace)
    assert told(result) == [("web", "/spec/replicas", "controller-managed", "controller", "ignore")]
    assert "remove /spec/replicas" in result["findings"][0]["suggestion"]


def test_field_that_git_no_longer_declares_is_a_reconciliation_failure(
    cluster: ControlPlane, namespace: str, git: Path
) -> None:
    declare(git, a_deployment(namespace))
    api = Api(cluster.as_("admin"))
    applied = a_deployment(namespace, minReadySeconds=5)
    applied["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "OLD", "value": "1"}]
    api.apply(marked(applied), OWNER)
    lagging = ("sync-availability", "reconciliation-failure")
    found = told(drift(cluster.kubeconfig("admin"), git, "-n", namespace))
    assert [each[:-1] for each in found] == [
        ("web", "/spec/minReadySeconds", *lagging),
        ("web", "/spec/template/spec/containers[name=web]/env[name=OLD]", *lagging),
    ]


def test_defaults_of_the_api_server_are_no_finding(
    cluster: ControlPlane, namespace: str, git: Path
) -> None:
    web = a_deployment(namespace, paused=False, minReadySeconds=0)
    web["spec"]["template"]["spec"]["containers"][0] |= {"imagePullPolicy": "", "args": []}
    declare(git, web)
    Api(cluster.as_("admin")).apply(marked(web), OWNER)
    result = drift(cluster.kubeconfig("admin"), git, "-n", namespace)
    assert (result["findings"], result["incomplete"]) == ([], [])


def test_adopted_object_has_no_findings_for_defaults(
    cluster: ControlPlane, namespace: str, git: Path
) -> None:
    web = a_deployment(namespace)
    declare(git, web)
    cluster.as_("admin").kubectl("create", "-f", "-", stdin=web)
    Api(cluster.as_("admin")).apply(marked(web), OWNER)
    result = drift(cluster.kubeconfig("admin"), git, "-n", namespace)
    assert (result["findings"], result["incomplete"]) == ([], [])


Mutating = Callable[[str], None]


@pytest.fixture
def mutating(cluster: ControlPlane, namespace: str) -> Iterator[Mutating]:
    """Return a function that has every Deployment of the namespace mutated, as webhooks do."""
    name = f"mutate-{namespace}"

    def begin(expression: str) -> None:
        cluster.apply(mutating_policy(name, namespace, expression))

    yield begin
    for kind in ("mutatingadmissionpolicy", "mutatingadmissionpolicybinding"):
        cluster.as_("admin").kubectl("delete", kind, name)


def mutating_policy(name: str, namespace: str, expression: str) -> list[Object]:
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}
    mutation = {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": expression},
    }
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE", "UPDATE"]}]},
        "mutations": [mutation],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    bound = {"policyName": name, "matchResources": {"namespaceSelector": selector}}
    return [
        {**head, "kind": "MutatingAdmissionPolicy", "spec": spec},
        {**head, "kind": "MutatingAdmissionPolicyBinding", "spec": bound},
    ]


def apply_until(api: Api, obj: Object, done: Callable[[Object], bool], what: str) -> None:
    """Apply *obj* until a policy that is new to the API server has its effect."""

    def applied() -> bool:
        api.apply(marked(obj), OWNER)
        return done(api.get(obj) or {})

    eventually(applied, what)


def test_injected_sidecar_is_not_attributed_to_a_person(
    cluster: ControlPlane, namespace: str, git: Path, mutating: Mutating
) -> None:
    mutating(
        "Object{spec: Object.spec{template: Object.spec.template{spec: "
        "Object.spec.template.spec{containers: [Object.spec.template.spec.containers{"
        "name: 'proxy', image: 'registry.example/proxy:1'}]}}}}"
    )
    web = a_deployment(namespace)
    declare(git, web)

    def is_injected(live: Object) -> bool:
        return len(live["spec"]["template"]["spec"]["containers"]) == 2

    apply_until(Api(cluster.as_("admin")), web, is_injected, "the sidecar to be injected")
    result = drift(cluster.kubeconfig("admin"), git, "-n", namespace)
    sidecar = "/spec/template/spec/containers[name=proxy]"
    assert told(result) == [("web", sidecar, "controller-managed", "controller", "ignore")]


def test_injected_ca_bundle_is_attributed_to_its_controller(
    cluster: ControlPlane, namespace: str, git: Path
) -> None:
    hook = next(each for each in SPECIMENS if each.label == "ValidatingWebhookConfiguration")
    manifest = copy.deepcopy(hook.manifest)
    manifest["metadata"]["name"] = f"check-{namespace}"
    manifest["webhooks"][0]["clientConfig"]["caBundle"] = PLACEHOLDER
    declare(git, manifest)
    api = Api(cluster.as_("admin"))
    api.apply(marked(manifest, app=namespace), OWNER)
    patch = [put("/webhooks/0/clientConfig/caBundle", AUTHORITY)]
    api.patch(manifest, patch, "cert-manager-cainjector")
    try:
        result = drift(cluster.kubeconfig("admin"), git, "--kind", manifest["kind"])
    finally:
        api.delete(manifest)
    field = "/webhooks[name=check.example.com]/clientConfig/caBundle"
    assert told(result) == [
        (f"check-{namespace}", field, "controller-managed", "controller", "ignore")
    ]


def test_kinds_that_cannot_be_listed_are_reported_as_incomplete(
    cluster: ControlPlane, namespace: str, git: Path
) -> None:
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": namespace, "labels": {}},
        "data": {"a": "1"},
    }
    secret = {**settings, "kind": "Secret", "data": {"a": "YQ=="}}
    vanished = {**settings, "apiVersion": "gone.example.com/v1", "kind": "Gone"}
    declare(git, settings, secret, vanished)
    api = Api(cluster.as_("admin"))
    api.apply(marked(settings), OWNER)
    api.patch(settings, [put("/data/a", "2")], "kubectl-edit")
    reader = cluster.service_account(namespace, "reader")
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    head = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    metadata = {"name": "reader", "namespace": namespace}
    cluster.apply(
        [
            {**head, "kind": "Role", "metadata": metadata, "rules": [rule]},
            {
                **head,
                "kind": "RoleBinding",
                "metadata": metadata,
                "roleRef": {"apiGroup": RBAC_GROUP, "kind": "Role", "name": "reader"},
                "subjects": [subject],
            },
        ]
    )
    # No right to list all namespaces: the one that is declared is enough.
    result = drift(reader.kubeconfig, git)
    assert [each["field"] for each in result["findings"]] == ["/data/a"]
    unseen = {each["what"]: each["why"] for each in result["incomplete"]}
    assert unseen["Secret (v1)"] == "no right to list it"
    assert unseen["Gone (gone.example.com/v1)"] == "the API server serves no such kind"
    [orphans] = [what for what in unseen if what.startswith("orphans among ")]
    assert "Deployment" in orphans


def test_unreachable_api_server_is_reported(cluster: ControlPlane, git: Path) -> None:
    declare(git, a_deployment("default"))
    kubeconfig = git.parent / "kubeconfig"
    text = cluster.kubeconfig("admin").read_text()
    kubeconfig.write_text(text.replace(cluster.server, "https://127.0.0.1:1"))
    command = ["drift", "--git", str(git), "--kubeconfig", str(kubeconfig), "--exit-code"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert "refused" in result.stderr
    assert "No drift" not in result.stdout


def test_confirm_drops_findings_that_applying_git_would_not_change(
    cluster: ControlPlane, namespace: str, git: Path, mutating: Mutating
) -> None:
    mutating("Object{spec: Object.spec{minReadySeconds: 7}}")
    web = a_deployment(namespace, minReadySeconds=3)
    declare(git, web)
    api = Api(cluster.as_("admin"))

    def is_mutated(live: Object) -> bool:
        return bool(live["spec"].get("minReadySeconds") == 7)

    apply_until(api, web, is_mutated, "the field to be mutated")
    api.patch(web, [put("/spec/replicas", 3)], "kubectl-edit")

    def fields(*arguments: str) -> list[str]:
        result = drift(cluster.kubeconfig("admin"), git, "-n", namespace, *arguments)
        assert result["incomplete"] == []
        return [each["field"] for each in result["findings"]]

    assert fields() == ["/spec/minReadySeconds", "/spec/replicas"]
    assert fields("--confirm") == ["/spec/replicas"]


def test_passes_follow_changes_in_cluster_and_git(
    cluster: ControlPlane, namespace: str, git: Path
) -> None:
    web = a_deployment(namespace)
    declare(git, web)
    api = Api(cluster.as_("admin"))
    api.apply(marked(web), OWNER)
    server = ApiServer(access_from(cluster.kubeconfig("admin")), "tests")
    address = Address(str(git), "")

    def new_scan() -> tuple[Scan, ClusterLive]:
        live = ClusterLive(server, Scope(namespace, namespace))
        manifests = read_declared(address, "", Release())
        return Scan(Detector(DEFAULT, manifests.revision), manifests, live), live

    follower = Follower(server, new_scan, lambda: fingerprint_of(address, ""))
    scene = Scene(DEFAULT, datetime.now(UTC))

    def fields() -> list[str]:
        return [str(each.field) for each in follower.run(scene).findings]

    assert fields() == []
    api.patch(web, [put("/spec/replicas", 3)], "kubectl-edit")
    eventually(lambda: fields() == ["/spec/replicas"], "the edit to be seen")
    declare(git, a_deployment(namespace, replicas=3))
    assert fields() == []
    api.delete(web)
    eventually(lambda: fields() == ["/"], "the deletion to be seen")
    follower.close()


def test_differences_under_a_suspended_flux_are_classified_from_edit_to_rename(
    cluster: ControlPlane,
    flux: Flux,
    git_repository: GitRepository,
    namespace: str,
) -> None:
    """Suspended, Flux neither heals nor follows Git."""
    kubeconfig = cluster.kubeconfig("admin")
    web = json.dumps(a_deployment(namespace))
    first = git_repository.commit({"shop/web.yaml": web}, "first")
    with flux.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        suspend = ("--type=merge", "--patch", '{"spec":{"suspend":true}}')
        admin = cluster.as_("admin")
        admin.kubectl("patch", KUSTOMIZATION, deployed.name, "-n", deployed.namespace, *suspend)

        lagging = ("sync-availability", "reconciliation-failure")

        def found_at(revision: str) -> list[tuple[str, ...]]:
            address = f"{git_repository.url}@{revision}"
            arguments = ("--path", "shop", "-n", namespace, "--app", namespace)
            return told(drift(kubeconfig, address, *arguments))

        paused = (deployed.name, "/spec/suspend", *lagging, "alert")
        assert found_at(first) == [paused]
        newer = web.replace("web:1", "web:2")
        second = git_repository.commit({"shop/web.yaml": newer}, "a newer image")
        assert [each[:-1] for each in found_at(second)] == [
            paused[:-1],
            ("web", IMAGE, *lagging),
        ]

        by_hand = ("set", "image", "deployment/web", "web=registry.example/web:9")
        cluster.as_("developer").kubectl(*by_hand, "-n", namespace)
        edited = ("web", IMAGE, "desired-configuration", "person", "auto-heal")
        assert found_at("main") == [paused, edited]

        renamed = json.loads(newer)
        renamed["metadata"]["name"] = "renamed"
        moved = {"shop/web.yaml": None, "shop/renamed.yaml": json.dumps(renamed)}
        third = git_repository.commit(moved, "renamed")
        missing = ("renamed", "/", *lagging, "escalate")
        orphan = ("web", "/", "orphan", "reconciliation-failure", "prune")
        assert found_at(third) == [paused, missing, orphan]

        # Without its marks it is still in Flux's inventory.
        unmark = [f"{key}-" for key in FLUX]
        admin.kubectl("label", "deployment/web", "-n", namespace, *unmark)
        assert found_at(third) == [paused, missing, orphan]


def test_failed_sync_of_flux_is_reported(
    cluster: ControlPlane, flux: Flux, git_repository: GitRepository, namespace: str
) -> None:
    broken = json.dumps({**a_deployment(namespace), "kind": "Nonsense"})
    web = json.dumps(a_deployment(namespace))
    first = git_repository.commit({"shop/web.yaml": web}, "first")
    with flux.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        git_repository.commit({"shop/more.yaml": broken}, "broken")
        deployed.sync()

        def is_failing() -> bool:
            conditions = deployed.get()["status"]["conditions"]
            return any(each["type"] == "Ready" and each["status"] == "False" for each in conditions)

        eventually(is_failing, "Flux to fail")
        address = f"{git_repository.url}@{first}"
        arguments = ("--path", "shop", "-n", namespace, "--app", namespace)

        def told() -> Any:  # noqa: ANN401 - a finding
            result = drift(cluster.kubeconfig("admin"), address, *arguments)
            fields = {each["field"]: each for each in result["findings"]}
            return fields.get("/status/conditions[type=Ready]")

        # While Flux tries again it does not know whether it is ready.
        ready = eventually(told, "the failure to be told")
    assert ready["object"]["kind"] == "Kustomization"
    assert (ready["class"], ready["response"]) == ("sync-availability", "escalate")
    assert "Nonsense" in ready["reason"]


def test_drift_that_argocd_overlooks_is_found(
    cluster: ControlPlane, argocd: ArgoCD, git_repository: GitRepository, namespace: str
) -> None:
    """An added variable leaves an Application Synced."""
    web = a_deployment(namespace)
    first = git_repository.commit({"shop/web.yaml": json.dumps(web)}, "first")
    address = f"{git_repository.url}@{first}"
    arguments = ("--path", "shop", "-n", namespace, "--app", namespace)
    with argocd.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        before = drift(cluster.kubeconfig("admin"), address, *arguments)
        cluster.as_("developer").kubectl("set", "env", "deployment/web", "DEBUG=1", "-n", namespace)
        after = drift(cluster.kubeconfig("admin"), address, *arguments)
        deployed.wait_synced(first)
    assert (before["findings"], before["incomplete"]) == ([], [])
    variable = "/spec/template/spec/containers[name=web]/env[name=DEBUG]"
    person = ("desired-configuration", "person", "auto-heal")
    assert told(after) == [("web", variable, *person)]


def test_ignore_differences_of_argocd_are_respected(
    cluster: ControlPlane, argocd: ArgoCD, git_repository: GitRepository, namespace: str
) -> None:
    """By pointer, by jq and by manager: Argo CD stays Synced, and the reason names the rule."""
    web = a_deployment(namespace, minReadySeconds=3)
    first = git_repository.commit({"shop/web.yaml": json.dumps(web)}, "first")
    image = '.spec.template.spec.containers[] | select(.name == "web") | .image'
    entry = {
        "group": "apps",
        "kind": "Deployment",
        "jsonPointers": ["/spec/replicas"],
        "jqPathExpressions": [image],
        "managedFieldsManagers": ["some-operator"],
    }
    developer = cluster.as_("developer")
    with argocd.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        told_to = json.dumps({"spec": {"ignoreDifferences": [entry]}})
        patch = ("patch", APPLICATION, namespace, "-n", "argocd", "--type=merge", "--patch")
        cluster.as_("admin").kubectl(*patch, told_to)
        deployed.wait_synced(first)
        developer.kubectl("scale", "deployment/web", "--replicas=4", "-n", namespace)
        by_hand = ("set", "image", "deployment/web", "web=registry.example/web:9")
        developer.kubectl(*by_hand, "-n", namespace)
        operator = [put("/spec/minReadySeconds", 9)]
        Api(cluster.as_("admin")).patch(web, operator, "some-operator")
        deployed.wait_synced(first)
        arguments = ("--path", "shop", "-n", namespace, "--app", namespace)
        address = f"{git_repository.url}@{first}"
        result = drift(cluster.kubeconfig("admin"), address, *arguments)
    assert {each["field"]: each["response"] for each in result["findings"]} == {
        "/spec/minReadySeconds": "ignore",
        "/spec/replicas": "ignore",
        IMAGE: "ignore",
    }
    assert all("ignoreDifferences" in each["reason"] for each in result["findings"])
    assert result["incomplete"] == []


def imported(tmp_path: Path, form: str, text: str) -> Any:  # noqa: ANN401 - JSON
    file = tmp_path / form
    file.write_text(text)
    command = ["drift", "--import", f"{form}={file}", "--format", "json"]
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


WHOLE_CONTEXT = {"KUBECTL_EXTERNAL_DIFF": "diff -N -U 100000"}


@pytest.mark.parametrize(
    ("environment", "fields"),
    [({}, {"/"}), (WHOLE_CONTEXT, {IMAGE, "/spec/replicas"})],
    ids=["as it is", "with all of its context"],
)
def test_output_of_kubectl_diff_is_imported(
    cluster: ControlPlane,
    namespace: str,
    tmp_path: Path,
    environment: dict[str, str],
    fields: set[str],
) -> None:
    web = a_deployment(namespace)
    admin = cluster.as_("admin")
    admin.kubectl("apply", "-f", "-", stdin=web)
    by_hand = ("set", "image", "deployment/web", "web=registry.example/web:2", "-n", namespace)
    admin.kubectl(*by_hand)
    web["spec"]["replicas"] = 3
    missing = {**web, "metadata": {**web["metadata"], "name": "missing"}}
    for each in (web, missing):
        (tmp_path / f"{each['metadata']['name']}.json").write_text(json.dumps(each))
    printed = subprocess.run(
        [admin.program, "diff", "-f", tmp_path],
        env=admin.environment() | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert printed.returncode == 1
    found = imported(tmp_path, "kubectl-diff", printed.stdout)["findings"]
    assert {each["field"] for each in found if each["object"]["name"] == "web"} == fields
    [lacking] = [each for each in found if each["object"]["name"] == "missing"]
    assert (lacking["field"], lacking["live"]) == ("/", None)
    assert lacking["object"]["namespace"] == namespace


@pytest.mark.parametrize(
    ("environment", "field"),
    [({}, "/"), (WHOLE_CONTEXT, IMAGE)],
    ids=["as it is", "with all of its context"],
)
def test_output_of_argocd_app_diff_is_imported(
    cluster: ControlPlane,
    argocd: ArgoCD,
    git_repository: GitRepository,
    namespace: str,
    tmp_path: Path,
    environment: dict[str, str],
    field: str,
) -> None:
    web = json.dumps(a_deployment(namespace))
    first = git_repository.commit({"shop/web.yaml": web}, "first")
    with argocd.deploy(git_repository, "shop", namespace) as deployed:
        deployed.wait_synced(first)
        stop = ("--type=merge", "--patch", '{"spec":{"syncPolicy":null}}')
        cluster.as_("admin").kubectl("patch", APPLICATION, namespace, "-n", "argocd", *stop)
        by_hand = ("set", "image", "deployment/web", "web=registry.example/web:2")
        cluster.as_("developer").kubectl(*by_hand, "-n", namespace)

        def is_out_of_sync() -> bool:
            deployed.sync()
            return bool(deployed.get()["status"]["sync"]["status"] == "OutOfSync")

        eventually(is_out_of_sync, "Argo CD to see the difference")
        server = argocd.server.removeprefix("http://")
        program = programs([ARGOCD])["argocd"]
        where = ("--server", server, "--plaintext", "--config", tmp_path / "config")
        printed = subprocess.run(
            [program, "app", "diff", namespace, *where],
            env={**os.environ, "ARGOCD_BINARY_NAME": "argocd", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    assert printed.returncode == 1, printed.stderr
    [finding] = imported(tmp_path, "argocd-diff", printed.stdout)["findings"]
    assert (finding["object"]["name"], finding["field"]) == ("web", field)
    assert "web:1" in finding["declared"]
    assert "web:2" in finding["live"]


def test_watch_shows_changes_until_it_is_stopped(
    cluster: ControlPlane, namespace: str, git: Path, tmp_path: Path
) -> None:
    web = a_deployment(namespace)
    declare(git, web)
    api = Api(cluster.as_("admin"))
    api.apply(marked(web), OWNER)
    shown = tmp_path / "shown"
    program = Path(sys.executable).with_name("glasswarden")
    where = ("--kubeconfig", cluster.kubeconfig("admin"), "--namespace", namespace)
    command: list[str | Path] = [program, "drift", "--watch", "--git", git, *where]
    with shown.open("wb") as output, subprocess.Popen(command, stdout=output) as wall:
        try:
            eventually(lambda: "No drift" in shown.read_text(), "the first table")
            api.patch(web, [put("/spec/replicas", 3)], "kubectl-edit")
            eventually(lambda: "/spec/replicas" in shown.read_text(), "the edit to be shown")
        finally:
            wall.send_signal(signal.SIGINT)
    assert wall.returncode == 0


def test_objects_of_kubectl_apply_are_compared_without_an_owner(
    cluster: ControlPlane, namespace: str, git: Path
) -> None:
    web = a_deployment(namespace)
    declare(git, web)
    admin = cluster.as_("admin")
    admin.kubectl("apply", "-f", str(git))
    assert drift(cluster.kubeconfig("admin"), git, "-n", namespace)["findings"] == []
    admin.kubectl("label", "deployment/web", "by=hand", "-n", namespace)
    declare(git, a_deployment(namespace, minReadySeconds=5, replicas=2))
    found = told(drift(cluster.kubeconfig("admin"), git, "-n", namespace))
    assert found == [
        ("web", "/metadata/labels/by", "desired-configuration", "person", "auto-heal"),
        ("web", "/spec/minReadySeconds", "sync-availability", "reconciliation-failure", "escalate"),
        ("web", "/spec/replicas", "desired-configuration", "person", "escalate"),
    ]


def test_chart_installed_by_helm_has_no_drift(
    cluster: ControlPlane, namespace: str, renderers: dict[str, Path], tmp_path: Path
) -> None:
    chart = tmp_path / "shop"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    web = a_deployment(namespace)
    web["metadata"] = {"name": "{{ .Release.Name }}"}
    (chart / "templates" / "web.yaml").write_text(json.dumps(web))
    admin = cluster.as_("admin")
    where = ("--namespace", namespace, "--kubeconfig", admin.kubeconfig)
    command: list[str | Path] = [renderers["helm"], "install", "web", chart, *where]
    subprocess.run(command, env=admin.environment(), check=True, capture_output=True)
    arguments = ("--namespace", namespace, "--app", "web")
    assert drift(admin.kubeconfig, chart, *arguments)["findings"] == []
    admin.kubectl("scale", "deployment/web", "--replicas=4", "-n", namespace)
    [found] = told(drift(admin.kubeconfig, chart, *arguments))
    assert found == ("web", "/spec/replicas", "desired-configuration", "person", "alert")


def test_objects_deployed_by_flux_have_no_drift(
    cluster: ControlPlane, flux: Flux, git_repository: GitRepository, namespace: str
) -> None:
    """Flux completes manifests before it applies them; that is nobody's change."""
    folder = cluster.folder / "flux-definitions"
    folder.mkdir(exist_ok=True)
    for each in definitions():
        (folder / f"{each['metadata']['name']}.json").write_text(json.dumps(each))
    cluster.define(folder)
    files: dict[str, str | None] = {}
    for specimen in SPECIMENS:
        if specimen.label == "Namespace":
            continue  # Kustomize renames it to the target namespace
        manifest = copy.deepcopy(specimen.manifest)
        manifest["metadata"]["name"] += f"-{namespace}"
        if "namespace" in manifest["metadata"]:
            manifest["metadata"]["namespace"] = namespace
        files[f"all/{specimen.label}.yaml"] = json.dumps(manifest)
    revision = git_repository.commit(files, "one of each kind")
    with flux.deploy(git_repository, "all", namespace) as deployed:
        deployed.wait_synced(revision)
        address = f"{git_repository.url}@{revision}"
        result = drift(cluster.kubeconfig("admin"), address, "--path", "all", "--app", namespace)
    assert told(result) == []
    assert result["incomplete"] == []
