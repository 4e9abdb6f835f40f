"""`scan`: one pass over what is declared and what is live, here from folders."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from correlator.classify.rule import Scene
from correlator.declared.manifests import Declared, Manifests
from correlator.detector.detect import Detector
from correlator.finding import Cause, Finding, Incomplete, Response, Result
from correlator.inspection.scan import Scan
from correlator.inspection.scope import InspectionScope
from correlator.live.folder import FolderLive
from correlator.live.source import Kind, KindUnavailable, Scope
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import parse_path
from glasswarden.policy.policy import DEFAULT
from tests.correlator.builders import owned
from tests.correlator.classify.test_rules import HOUR, NOW, a_finding
from tests.kube.builders import a_deployment, an_entry, an_object, managed_by


def live_in(folder: Path, *objects: Object, scope: Scope | None = None) -> FolderLive:
    for number, each in enumerate(objects):
        (folder / f"{number}.json").write_text(json.dumps(each))
    return FolderLive(folder, scope or Scope())


def scanned(live: FolderLive, *declared: Object, broken: tuple[Incomplete, ...] = ()) -> Result:
    manifests = Manifests(tuple(Declared(each, "a.yaml:1") for each in declared), broken, "abc")
    scan = Scan(Detector(DEFAULT, "abc"), manifests, live)
    scan.run()
    return scan.result(scan.scene(Scene(DEFAULT, NOW)))


def told(result: Result) -> list[tuple[str, str]]:
    return [(str(each.ref), str(each.field)) for each in result.findings]


def a_config(name: str, namespace: str = "prod", **data: str) -> Object:
    return owned(an_object("v1/ConfigMap", name=name, namespace=namespace, data=data))


def a_declared(name: str, namespace: str = "prod", **data: str) -> Object:
    return an_object("v1/ConfigMap", name=name, namespace=namespace, data=data)


def test_changed_missing_and_orphaned_objects_are_findings(tmp_path: Path) -> None:
    live = live_in(tmp_path, a_config("same"), a_config("changed", a="2"), a_config("orphan"))
    result = scanned(live, a_declared("same"), a_declared("changed", a="1"), a_declared("missing"))
    assert told(result) == [
        ("ConfigMap prod/changed", "/data/a"),
        ("ConfigMap prod/missing", "/"),
        ("ConfigMap prod/orphan", "/"),
    ]
    assert result.incomplete == ()


def test_an_orphan_of_a_kind_that_is_no_longer_declared_is_found(tmp_path: Path) -> None:
    service = owned(an_object("v1/Service", name="old"))
    result = scanned(live_in(tmp_path, a_config("same"), service), a_declared("same"))
    assert told(result) == [("Service prod/old", "/")]


def test_objects_of_another_application_are_no_orphans(tmp_path: Path) -> None:
    theirs = a_config("theirs")
    theirs["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] = "other"
    result = scanned(live_in(tmp_path, a_config("same"), theirs), a_declared("same"))
    assert told(result) == []


def test_unreadable_manifest_hides_orphans_as_incomplete(tmp_path: Path) -> None:
    broken = (Incomplete("b.yaml, line 1", "not YAML"),)
    live = live_in(tmp_path, a_config("same"), a_config("perhaps"))
    result = scanned(live, a_declared("same"), broken=broken)
    assert told(result) == []
    assert [each.what for each in result.incomplete] == ["b.yaml, line 1", "orphans"]


def test_unreadable_live_file_hides_missing_objects_as_incomplete(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("a: b: c")
    result = scanned(live_in(tmp_path, a_config("same")), a_declared("same"), a_declared("b"))
    assert told(result) == []
    assert "broken.yaml, line 1 cannot be read" in result.incomplete[0].why


def test_object_live_only_in_another_version_is_incomplete(tmp_path: Path) -> None:
    live = live_in(tmp_path, an_object("autoscaling/v2/HorizontalPodAutoscaler"))
    result = scanned(live, an_object("autoscaling/v1/HorizontalPodAutoscaler"))
    assert told(result) == []
    assert result.incomplete == (
        Incomplete("HorizontalPodAutoscaler (autoscaling/v1)", "live only in version v2"),
    )


def test_object_that_is_declared_twice_is_a_remark(tmp_path: Path) -> None:
    live = live_in(tmp_path, a_config("same", a="2"))
    result = scanned(live, a_declared("same", a="1"), a_declared("same", a="2"))
    assert told(result) == []
    assert result.incomplete == ()
    assert "declared twice" in result.remarks[0]


def test_additions_without_managed_fields_are_incomplete(tmp_path: Path) -> None:
    live = live_in(tmp_path, an_object("v1/ConfigMap", name="same", data={"b": "2"}))
    result = scanned(live, a_declared("same"))
    assert result.incomplete == (
        Incomplete(
            "additions in 1 objects", "they carry no managedFields, which tell who holds a field"
        ),
    )


def test_object_without_namespace_is_compared_in_the_default_namespace(tmp_path: Path) -> None:
    live = live_in(tmp_path, a_config("same", "shop"), scope=Scope(home="shop"))
    assert told(scanned(live, a_declared("same", ""))) == []


def test_namespace_of_a_cluster_scoped_object_is_ignored(tmp_path: Path) -> None:
    role = "rbac.authorization.k8s.io/v1/ClusterRole"
    live = live_in(tmp_path, owned(an_object(role, namespace="")))
    assert told(scanned(live, an_object(role, namespace="prod"))) == []


def a_job(name: str, owner: str, **annotations: str) -> Object:
    """Return a Job with annotations, which Argo CD or Flux owns as they say."""
    keys = {"argocd": "argocd.argoproj.io/hook", "helm": "helm.sh/hook"}
    job = an_object("batch/v1/Job", name=name)
    job["metadata"]["annotations"] = {keys[key]: value for key, value in annotations.items()}
    if owner == "argocd":
        tracked = {"argocd.argoproj.io/tracking-id": f"shop:batch/Job:prod/{name}"}
        job["metadata"]["annotations"] |= tracked
        return managed_by(job, an_entry("argocd-controller"))
    return owned(job) if owner else job


def of_argocd(name: str) -> Object:
    config = a_declared(name)
    tracked = {"argocd.argoproj.io/tracking-id": f"shop:/ConfigMap:prod/{name}"}
    config["metadata"]["annotations"] = tracked
    return managed_by(config, an_entry("argocd-controller"))


class TestHooks:
    """A hook is created and deleted by syncs."""

    @pytest.mark.parametrize("kind", ["argocd", "helm"])
    def test_finished_hook_is_not_missing(self, tmp_path: Path, kind: str) -> None:
        live = live_in(tmp_path, of_argocd("same"), an_object("batch/v1/Job", name="other"))
        hook = a_job("migrate", "", **{kind: "PreSync"})
        assert told(scanned(live, a_declared("same"), hook)) == []

    @pytest.mark.parametrize("kind", ["argocd", "helm"])
    def test_live_hook_is_no_orphan(self, tmp_path: Path, kind: str) -> None:
        live = live_in(tmp_path, of_argocd("same"), a_job("hook", "argocd", **{kind: "PostSync"}))
        assert told(scanned(live, a_declared("same"))) == []

    def test_hook_annotation_does_not_count_under_flux(self, tmp_path: Path) -> None:
        live = live_in(tmp_path, a_config("same"), a_job("old", "flux", argocd="PreSync"))
        assert told(scanned(live, a_declared("same"))) == [("Job prod/old", "/")]


def test_autoscaler_outside_of_git_is_considered(tmp_path: Path) -> None:
    scaler = an_object(
        "autoscaling/v2/HorizontalPodAutoscaler",
        spec={"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 9},
    )
    web = owned(a_deployment(replicas=5), an_entry("x", "/spec/replicas"))
    live = live_in(tmp_path, web, scaler)
    [finding] = scanned(live, a_deployment(replicas=3)).findings
    assert finding.verdict is not None
    assert finding.verdict.response == Response.IGNORE


def a_kustomization(applied: str, ready: str) -> Object:
    condition = {"type": "Ready", "status": ready, "reason": "BuildFailed", "message": "boom"}
    return an_object(
        "kustomize.toolkit.fluxcd.io/v1/Kustomization",
        name="shop",
        namespace="flux-system",
        status={"lastAppliedRevision": applied, "conditions": [condition]},
    )


def test_application_that_never_synced_is_a_finding(tmp_path: Path) -> None:
    live = live_in(tmp_path, a_kustomization("", "False"))
    found = scanned(live, a_declared("never")).findings
    assert [(str(each.ref), each.verdict and each.verdict.cause) for each in found] == [
        ("Kustomization flux-system/shop", Cause.RECONCILIATION_FAILURE),
        ("ConfigMap prod/never", Cause.RECONCILIATION_FAILURE),
    ]


def test_field_that_a_failing_application_did_not_apply_is_a_reconciliation_failure(
    tmp_path: Path,
) -> None:
    live = live_in(tmp_path, a_kustomization("main@sha1:old", "False"), a_config("web"))
    found = {str(each.field): each for each in scanned(live, a_declared("web", a="1")).findings}
    verdict = found["/data/a"].verdict
    assert verdict is not None
    assert verdict.cause == Cause.RECONCILIATION_FAILURE
    assert "boom" in verdict.reason


def test_finished_rollout_is_not_waited_for(tmp_path: Path) -> None:
    web = owned(a_deployment(replicas=3), an_entry("kustomize-controller", "/spec/minReadySeconds"))
    web["spec"]["minReadySeconds"] = 1
    declared = a_deployment(replicas=3, minReadySeconds=2)
    manifests = Manifests((Declared(declared, "a.yaml:1"),), (), "abc")
    scan = Scan(Detector(DEFAULT, "abc"), manifests, live_in(tmp_path, web))
    scan.run()
    [kind] = scan.declared

    def is_waited_for(updated: int) -> bool:
        scan.judge(kind, ("prod", "web"), {**web, "status": {"updatedReplicas": updated}})
        return bool(scan.scene(Scene(DEFAULT, NOW)).rolling)

    assert is_waited_for(1)
    assert not is_waited_for(3)


def test_drift_of_an_object_that_flux_creates_once_is_ignored(tmp_path: Path) -> None:
    declared = a_declared("seed", a="1")
    declared["metadata"]["annotations"] = {"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}
    live = owned({**declared, "data": {"a": "2"}}, an_entry("some-operator", "/data/a"))
    [finding] = scanned(live_in(tmp_path, live), declared).findings
    assert finding.verdict is not None
    assert finding.verdict.response == Response.IGNORE
    assert "IfNotPresent" in finding.verdict.reason


def test_common_metadata_of_a_kustomization_counts_as_declared(tmp_path: Path) -> None:
    shop = a_kustomization("main@sha1:a", "True")
    shop["spec"] = {"commonMetadata": {"labels": {"team": "x"}}}
    labels = {"team": "x", "old": "y"}
    keys = [f"/metadata/labels/{key}" for key in labels]
    config = an_object("v1/ConfigMap", name="web", labels=labels)
    live = owned(config, an_entry("kustomize-controller", *keys, operation="Apply"))
    result = scanned(live_in(tmp_path, shop, live), a_declared("web"))
    assert told(result) == [("ConfigMap prod/web", "/metadata/labels/old")]


def test_renamed_only_object_asks_for_the_app_option(tmp_path: Path) -> None:
    result = scanned(live_in(tmp_path, a_config("old")), a_declared("new"))
    assert told(result) == [("ConfigMap prod/new", "/")]
    [incomplete] = result.incomplete
    assert (incomplete.what, "--app" in incomplete.why) == ("orphans", True)


def test_ignore_rules_of_the_argocd_configmap_are_respected(tmp_path: Path) -> None:
    rule = {"resource.customizations.ignoreDifferences.ConfigMap": "jsonPointers: [/data/a]"}
    app = an_object("argoproj.io/v1alpha1/Application", name="shop", namespace="argocd")
    settings = an_object("v1/ConfigMap", name="argocd-cm", namespace="argocd", data=rule)
    live = {**of_argocd("web"), "data": {"a": "2"}}
    result = scanned(live_in(tmp_path, app, settings, live), a_declared("web", a="1"))
    [finding] = result.findings
    assert finding.verdict is not None
    assert finding.verdict.response == Response.IGNORE


def test_unsupported_ignore_rule_of_the_argocd_configmap_is_incomplete(tmp_path: Path) -> None:
    rule = {"resource.customizations.ignoreDifferences.all": "jqPathExpressions: ['..']"}
    app = an_object("argoproj.io/v1alpha1/Application", name="shop", namespace="argocd")
    settings = an_object("v1/ConfigMap", name="argocd-cm", namespace="argocd", data=rule)
    result = scanned(live_in(tmp_path, app, settings, of_argocd("web")), a_declared("web"))
    assert [each.what for each in result.incomplete] == ["ignoreDifferences of argocd-cm"]


class Forbidding(FolderLive):
    """Refuses to list one kind."""

    def objects(self, kind: Kind, namespaces: frozenset[str]) -> Iterator[Object]:
        if kind.name == "Secret":
            raise KindUnavailable(str(kind), "no right to list it")
        return super().objects(kind, namespaces)

    def locate(self, ref: Ref) -> Ref:
        if ref.kind == "Gone":
            raise KindUnavailable("Gone (example.com/v1)", "the API server serves no such kind")
        return super().locate(ref)


def test_unlistable_kind_is_incomplete_and_hides_no_other_finding(tmp_path: Path) -> None:
    live_in(tmp_path, a_config("same", a="2"))
    live = Forbidding(tmp_path, Scope())
    result = scanned(
        live,
        an_object("v1/Secret", name="keys"),
        an_object("example.com/v1/Gone"),
        a_declared("same", a="1"),
    )
    assert told(result) == [("ConfigMap prod/same", "/data/a")]
    assert {each.what for each in result.incomplete} == {"Secret (v1)", "Gone (example.com/v1)"}


def test_values_of_secrets_are_hidden_in_the_result(tmp_path: Path) -> None:
    live = live_in(tmp_path, managed_by(an_object("v1/Secret", data={"a": "Yg=="}), an_entry("x")))
    [finding] = scanned(live, an_object("v1/Secret", stringData={"a": "a"})).findings
    assert (finding.declared, finding.live) == ("(hidden)", "(hidden)")


FILTERS = [
    pytest.param(InspectionScope(), True, id="nothing asked"),
    pytest.param(InspectionScope(app="shop"), True, id="its application"),
    pytest.param(InspectionScope(app="other"), False, id="another application"),
    pytest.param(InspectionScope(age=2 * HOUR), True, id="younger"),
    pytest.param(InspectionScope(age=HOUR / 2), False, id="older"),
]


@pytest.mark.parametrize(("asked", "kept"), FILTERS)
def test_filter_selects_findings(asked: InspectionScope, *, kept: bool) -> None:
    result = asked.select_findings(Result((a_finding(),), (Incomplete("a", "b"),)), NOW)
    assert (len(result.findings), len(result.incomplete)) == (kept, 1)


def test_drift_of_unknown_age_is_always_shown() -> None:
    result = Result((a_finding(by=""),))
    assert InspectionScope(age=HOUR / 60).select_findings(result, NOW) == result


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (InspectionScope(namespace="prod"), True),
        (InspectionScope(namespace="test"), False),
        (InspectionScope(kinds=("deployment",)), True),
        (InspectionScope(kinds=("apps/Deployment", "Service")), True),
        (InspectionScope(kinds=("Service",)), False),
    ],
)
def test_filter_selects_objects(asked: InspectionScope, *, wanted: bool) -> None:
    assert asked.includes(Ref("apps", "v1", "Deployment", "prod", "web")) is wanted


@pytest.mark.parametrize(("name", "wanted"), [("prod", True), ("test", False)])
def test_filter_by_namespace_includes_the_namespace_object(name: str, *, wanted: bool) -> None:
    assert (
        InspectionScope(namespace="prod").includes(Ref("", "v1", "Namespace", "", name)) is wanted
    )


class TestFindingsOfAnotherSource:
    """The comparison with Git takes precedence, where it has an answer."""

    @staticmethod
    def said(
        folder: Path, told: Finding, *objects: Object, declared: tuple[Object, ...]
    ) -> list[tuple[str, str]]:
        manifests = Manifests(tuple(Declared(each, "a.yaml:1") for each in declared), (), "abc")
        scan = Scan(Detector(DEFAULT, "abc"), manifests, live_in(folder, *objects))
        scan.run()
        found = scan.result(scan.scene(Scene(DEFAULT, NOW))).findings
        findings = (*found, *scan.drop_known([told]))
        return [(each.source, str(each.field)) for each in findings]

    @staticmethod
    def told(field: str, name: str = "web", live: object = "2") -> Finding:
        ref = Ref("", "v1", "ConfigMap", "prod", name)
        return Finding(ref, parse_path(field), "1", live, NOW, "ledger")

    def test_field_in_git_and_another_source_is_listed_once(self, tmp_path: Path) -> None:
        told, live = self.told("/data/a"), a_config("web", a="2")
        assert self.said(tmp_path, told, live, declared=(a_declared("web", a="1"),)) == [
            ("git", "/data/a")
        ]

    def test_field_and_its_parent_from_another_source_are_listed_once(self, tmp_path: Path) -> None:
        told, live = self.told("/data"), a_config("web", a="2")
        assert self.said(tmp_path, told, live, declared=(a_declared("web", a="1"),)) == [
            ("git", "/data/a")
        ]

    def test_field_that_git_has_adopted_is_not_listed(self, tmp_path: Path) -> None:
        told, live = self.told("/data/a"), a_config("web", a="2")
        assert self.said(tmp_path, told, live, declared=(a_declared("web", a="2"),)) == []

    def test_field_outside_of_git_without_a_manager_is_listed(self, tmp_path: Path) -> None:
        told, live = self.told("/data/b"), a_config("web", a="1", b="2")
        assert self.said(tmp_path, told, live, declared=(a_declared("web", a="1"),)) == [
            ("ledger", "/data/b")
        ]

    def test_finding_on_an_undeclared_object_is_listed(self, tmp_path: Path) -> None:
        told, live = self.told("/data/a", name="other"), a_config("web", a="1")
        assert self.said(tmp_path, told, live, declared=(a_declared("web", a="1"),)) == [
            ("ledger", "/data/a")
        ]

    def test_orphan_replaces_findings_on_its_fields(self, tmp_path: Path) -> None:
        told = self.told("/data/a", name="old")
        objects = a_config("web"), a_config("old", a="2")
        assert self.said(tmp_path, told, *objects, declared=(a_declared("web"),)) == [("git", "/")]
