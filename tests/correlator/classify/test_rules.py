"""`classify`: what kind of difference it is, whose, and what to do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from correlator.attribution.link import Link, State
from correlator.classify.advice import ignore_rule
from correlator.classify.rule import Following, Scene
from correlator.classify.rules import RULES, classify
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.engines.argocd import ignore_differences
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.managed_fields import Entry
from glasswarden.kube.notation import jq_path
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import ROOT, parse_path
from glasswarden.policy.policy import DEFAULT

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
WEB = Ref("apps", "v1", "Deployment", "prod", "web")
FLUX = Owner("flux", "shop", "flux-system", "Kustomization")
ARGOCD = Owner("argocd", "shop", None, "Application")
IMAGE = "/spec/template/spec/containers[name=app]/image"


def a_finding(
    field: str = IMAGE,
    declared: Value = "web:1",
    live: Value = "web:2",
    *,
    by: str = "kubectl-edit",
    ref: Ref = WEB,
    owner: Owner | None = FLUX,
    age: timedelta = HOUR,
) -> Finding:
    holders = (Entry("Update", by),) if by else ()
    since = NOW - age if by else None
    return Finding(
        ref, parse_path(field), declared, live, since, "git", "abc", owner, holders,
        origin="web.yaml:1",
    )  # fmt: skip


def judged(finding: Finding, scene: Scene | None = None) -> Verdict:
    verdict = classify(finding, scene or Scene(DEFAULT, NOW)).verdict
    assert verdict is not None
    return verdict


def an_orphan(kind: str = "ConfigMap", **metadata: object) -> Finding:
    ref = Ref("", "v1", kind, "prod", "old")
    return Finding(ref, ROOT, ABSENT, {"metadata": metadata}, None, "git", "abc", FLUX)


SERVICE = Ref("", "v1", "Service", "prod", "web")
HOOK = Ref("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "", "check")
CA = "/webhooks[name=a]/clientConfig/caBundle"
SIDECAR = "/spec/template/spec/containers[name=proxy]"
RESTART = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt"
MISSING = Finding(WEB, ROOT, {"kind": "Deployment"}, ABSENT, None, "git")

DESIRED, CONTROLLED = Class.DESIRED_CONFIGURATION, Class.CONTROLLER_MANAGED

JUDGED = [
    pytest.param(a_finding(), DESIRED, Cause.PERSON, Response.AUTO_HEAL, id="an image, by kubectl"),
    pytest.param(
        a_finding(age=timedelta(days=30)), DESIRED, Cause.PERSON, Response.ALERT,
        id="an image, a month ago",
    ),
    pytest.param(
        a_finding(by="argocd-server"), DESIRED, Cause.PERSON, Response.AUTO_HEAL,
        id="an image, in a web UI",
    ),
    pytest.param(
        a_finding("/spec/replicas", 3, 5, by="kubectl"), DESIRED, Cause.PERSON, Response.ALERT,
        id="replicas, by hand",
    ),
    pytest.param(
        a_finding("/spec/selector/app", "a", "b", ref=SERVICE), DESIRED, Cause.PERSON,
        Response.ALERT, id="routing",
    ),
    pytest.param(
        a_finding(live=ABSENT, by=""), DESIRED, Cause.UNKNOWN, Response.ESCALATE,
        id="removed, or never applied",
    ),
    pytest.param(
        a_finding("/spec/replicas", 3, ABSENT, by=""), DESIRED, Cause.UNKNOWN, Response.ALERT,
        id="capacity, removed or never applied",
    ),
    pytest.param(
        replace(a_finding(live=ABSENT, by=""), was_applied=True), DESIRED, Cause.PERSON,
        Response.AUTO_HEAL, id="applied, and removed since",
    ),
    pytest.param(
        replace(a_finding(live=ABSENT, by=""), was_applied=False), Class.SYNC_AVAILABILITY,
        Cause.RECONCILIATION_FAILURE, Response.ESCALATE, id="not applied yet",
    ),
    pytest.param(MISSING, DESIRED, Cause.PERSON, Response.AUTO_HEAL, id="missing"),
    pytest.param(
        a_finding("/spec/replicas", 3, 5, by="kube-controller-manager"), CONTROLLED,
        Cause.CONTROLLER, Response.IGNORE, id="replicas, by an autoscaler",
    ),
    pytest.param(
        a_finding(CA, "", "Y2E=", by="cert-manager-cainjector", ref=HOOK), CONTROLLED,
        Cause.CONTROLLER, Response.IGNORE, id="an authority that is injected",
    ),
    pytest.param(
        a_finding(CA, "", "Y2E=", by="kubectl-edit", ref=HOOK), DESIRED, Cause.PERSON,
        Response.AUTO_HEAL, id="an authority that a person wrote",
    ),
    pytest.param(
        a_finding(CA, "Y2E=", "ZXZpbA==", by="curl", ref=HOOK), DESIRED, Cause.CONTROLLER,
        Response.ESCALATE, id="an authority that an unknown manager wrote",
    ),
    pytest.param(
        a_finding(CA, "Y2E=", ABSENT, by="", ref=HOOK), DESIRED, Cause.UNKNOWN,
        Response.ESCALATE, id="an authority that is removed",
    ),
    pytest.param(
        a_finding(CA, "Y2E=", "", by="cert-manager-cainjector", ref=HOOK), CONTROLLED,
        Cause.CONTROLLER, Response.IGNORE, id="an authority that its delegate has emptied",
    ),
    pytest.param(
        a_finding("/spec/replicas", 3, 5, by="keda-operator"), CONTROLLED, Cause.CONTROLLER,
        Response.IGNORE, id="what the policy delegates",
    ),
    pytest.param(
        a_finding(SIDECAR, ABSENT, {"name": "proxy"}, by=""), CONTROLLED, Cause.CONTROLLER,
        Response.IGNORE, id="an injected sidecar",
    ),
    pytest.param(
        a_finding(SIDECAR, ABSENT, {"name": "proxy"}), DESIRED, Cause.PERSON, Response.AUTO_HEAL,
        id="a container that a person added",
    ),
    pytest.param(
        a_finding(RESTART, ABSENT, "2026-03-01", by="kubectl-rollout"), Class.RUNTIME_METADATA,
        Cause.PERSON, Response.IGNORE, id="a restart",
    ),
    pytest.param(
        a_finding(by="kustomize-controller"), Class.SYNC_AVAILABILITY,
        Cause.RECONCILIATION_FAILURE, Response.ESCALATE, id="Git moved on",
    ),
    pytest.param(
        a_finding("/spec/paused", ABSENT, True, by="kustomize-controller"),
        Class.SYNC_AVAILABILITY, Cause.RECONCILIATION_FAILURE, Response.ESCALATE,
        id="Git no longer has it",
    ),
    pytest.param(
        a_finding(by="kubectl-client-side-apply", owner=None), DESIRED, Cause.PERSON,
        Response.ESCALATE, id="deployed by hand with something else, no engine",
    ),
    pytest.param(
        a_finding(by="some-operator"), DESIRED, Cause.CONTROLLER, Response.ESCALATE,
        id="an unknown program",
    ),
    pytest.param(
        an_orphan(), Class.ORPHAN, Cause.RECONCILIATION_FAILURE, Response.PRUNE, id="an orphan"
    ),
    pytest.param(
        an_orphan("PersistentVolumeClaim"), Class.ORPHAN, Cause.RECONCILIATION_FAILURE,
        Response.ALERT, id="an orphan with data",
    ),
    pytest.param(
        an_orphan(annotations={"kustomize.toolkit.fluxcd.io/prune": "disabled"}), Class.ORPHAN,
        Cause.RECONCILIATION_FAILURE, Response.ALERT, id="an orphan that is kept",
    ),
    pytest.param(
        a_finding("/metadata/deletionTimestamp", ABSENT, "2026", by=""), DESIRED, Cause.PERSON,
        Response.ALERT, id="being deleted",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("finding", "kind", "cause", "response"), JUDGED)
def test_finding_is_classified_by_the_table_of_rules(
    finding: Finding, kind: Class, cause: Cause, response: Response
) -> None:
    verdict = judged(finding)
    assert (verdict.kind, verdict.cause, verdict.response) == (kind, cause, response)
    assert verdict.reason
    assert verdict.verify.startswith("kubectl ")


def test_every_rule_has_a_name_of_its_own() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


SCALED = Scene(DEFAULT, NOW, autoscaled={("Deployment", "prod", "web"): (2, 5)})


def test_replicas_of_an_autoscaled_object_are_controller_managed() -> None:
    verdict = judged(a_finding("/spec/replicas", 3, 5, by="some-operator"), SCALED)
    assert verdict.kind == Class.CONTROLLER_MANAGED
    assert verdict.suggestion == "# remove /spec/replicas of Deployment prod/web in web.yaml:1"


@pytest.mark.parametrize(
    ("replicas", "by"),
    [(0, "kubectl"), (5, "kubectl"), (0, "some-operator"), (9, "kube-apiserver")],
)
def test_replicas_outside_of_the_autoscaler_range_are_not_ignored(replicas: int, by: str) -> None:
    """An autoscaler is inactive while its object is scaled to zero."""
    verdict = judged(a_finding("/spec/replicas", 3, replicas, by=by), SCALED)
    assert (verdict.kind, verdict.response) != (Class.CONTROLLER_MANAGED, Response.IGNORE)


COMMIT, OTHER = "a" * 40, "b" * 40


def gone(revision: str = COMMIT) -> Finding:
    return replace(a_finding(live=ABSENT, by=""), revision=revision)


FOLLOWED = [
    pytest.param(gone(), Following(applied=f"main@sha1:{COMMIT}"), Cause.PERSON, id="applied"),
    pytest.param(
        gone(), Following(applied=f"main@sha1:{OTHER}"), Cause.RECONCILIATION_FAILURE,
        id="another revision applied",
    ),
    pytest.param(
        gone(f"{COMMIT}-dirty"), Following(applied=f"main@sha1:{COMMIT}"), Cause.UNKNOWN,
        id="edited since",
    ),
    pytest.param(
        gone(), Following(applied=f"latest@sha256:{'c' * 64}"), Cause.UNKNOWN, id="no commit"
    ),
    pytest.param(
        gone(), Following("is suspended", f"main@sha1:{COMMIT}"), Cause.RECONCILIATION_FAILURE,
        id="suspended",
    ),
    pytest.param(
        replace(MISSING, revision=COMMIT), Following("is suspended"),
        Cause.RECONCILIATION_FAILURE, id="an object, suspended",
    ),
    pytest.param(
        replace(MISSING, revision=COMMIT), Following(applied=OTHER),
        Cause.RECONCILIATION_FAILURE, id="an object, another revision applied",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("finding", "following", "cause"), FOLLOWED)
def test_removal_is_attributed_to_a_person_only_if_the_field_was_applied(
    finding: Finding, following: Following, cause: Cause
) -> None:
    verdict = judged(finding, Scene(DEFAULT, NOW, following={FLUX: following}))
    assert verdict.cause == cause


@pytest.mark.parametrize("by", ["deploy-script", "", "kustomize-controller"])
def test_linked_actor_is_the_cause_whatever_the_field_manager(by: str) -> None:
    link = Link(State.EXPLAINED, actor="alice", manager=by)
    verdict = judged(replace(a_finding(by=by), link=link))
    assert (verdict.kind, verdict.cause) == (Class.DESIRED_CONFIGURATION, Cause.PERSON)
    assert "by alice" in verdict.reason


def test_default_in_an_imported_finding_is_ignored() -> None:
    finding = replace(
        a_finding("/spec/revisionHistoryLimit", ABSENT, 10, by=""), source="argocd-diff"
    )
    verdict = judged(finding)
    assert (verdict.kind, verdict.cause, verdict.response) == (
        Class.RUNTIME_METADATA,
        Cause.DEFAULTING,
        Response.IGNORE,
    )
    assert judged(replace(finding, live=11)).cause == Cause.PERSON


def test_an_unfinished_rollout_is_waited_for() -> None:
    scene = Scene(DEFAULT, NOW, rolling=frozenset({WEB}))
    verdict = judged(a_finding(by="kustomize-controller"), scene)
    assert verdict.kind == Class.SYNC_AVAILABILITY
    assert verdict.response == Response.ALERT
    assert verdict.verify == "kubectl rollout status deployment.apps/web -n prod"


def test_reason_for_an_orphan_names_its_finalizers() -> None:
    verdict = judged(an_orphan(finalizers=["example.com/clean-up"]))
    assert "example.com/clean-up" in verdict.reason
    assert verdict.suggestion == "kubectl delete configmap/old -n prod --dry-run=server"


KEPT: list[Object] = [
    {"kustomize.toolkit.fluxcd.io/prune": "Disabled"},
    {"argocd.argoproj.io/sync-options": "Replace=true, Prune=false"},
    {"helm.sh/resource-policy": "keep"},
    {"client.lifecycle.config.k8s.io/deletion": "detach"},
    {"kapp.k14s.io/delete-strategy": "orphan"},
]


@pytest.mark.parametrize("annotations", KEPT, ids=lambda each: next(iter(each)))
def test_orphan_with_a_prune_protection_is_not_to_be_pruned(annotations: Object) -> None:
    verdict = judged(an_orphan(annotations=annotations))
    assert verdict.response == Response.ALERT
    assert verdict.suggestion == ""
    assert next(iter(annotations)) in verdict.reason


def test_orphan_with_the_prune_label_of_flux_is_not_to_be_pruned() -> None:
    labels = {"kustomize.toolkit.fluxcd.io/prune": "disabled"}
    assert judged(an_orphan(labels=labels)).response == Response.ALERT


def test_ignore_rule_for_argocd_names_one_field_of_one_object() -> None:
    assert ignore_differences(WEB, parse_path("/spec/replicas")) == (
        "ignoreDifferences:\n"
        "- group: apps\n"
        "  kind: Deployment\n"
        "  name: web\n"
        "  namespace: prod\n"
        "  jsonPointers:\n"
        '  - "/spec/replicas"'
    )


def test_ignore_rule_for_a_list_item_is_a_jq_expression() -> None:
    finding = a_finding(SIDECAR, ABSENT, {"name": "proxy"}, by="", owner=ARGOCD)
    assert r".spec.template.spec.containers[] | select(.name == \"proxy\")" in ignore_rule(finding)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/spec/replicas", ".spec.replicas"),
        ("/metadata/annotations/a.b~1c", '.metadata.annotations["a.b/c"]'),
        ("/spec/rules[0]/host", ".spec.rules[0].host"),
        (IMAGE, '.spec.template.spec.containers[] | select(.name == "app").image'),
        ("/spec/rules[my-key=a]/x", '.spec.rules[] | select(.["my-key"] == "a").x'),
        ("/metadata/finalizers[=a]", '.metadata.finalizers[] | select(. == "a")'),
    ],
)
def test_path_is_rendered_for_jq(path: str, expected: str) -> None:
    assert jq_path(parse_path(path)) == expected


def test_ignore_rule_for_flux_removes_a_declared_field_by_a_patch() -> None:
    text = ignore_rule(a_finding("/spec/replicas", 3, 5))
    assert "- op: remove" in text
    assert "path: /spec/replicas" in text
    assert "name: web" in text


def test_ignore_rule_for_flux_keeps_an_addition_by_an_annotation() -> None:
    text = ignore_rule(a_finding(SIDECAR, ABSENT, {"name": "proxy"}))
    assert "kustomize.toolkit.fluxcd.io/ssa: Merge" in text


RELEASE = Owner("flux", "shop", "flux-system", "HelmRelease")


def test_ignore_rule_for_a_helm_release_uses_drift_detection() -> None:
    assert ignore_rule(a_finding("/spec/replicas", 3, 5, owner=RELEASE)) == (
        "# spec of the HelmRelease\n"
        "driftDetection:\n"
        "  ignore:\n"
        "  - paths:\n"
        '    - "/spec/replicas"\n'
        "    target:\n"
        "      kind: Deployment\n"
        "      name: web\n"
        "      namespace: prod"
    )


def test_ignore_rule_for_a_helm_release_names_items_by_index() -> None:
    text = ignore_rule(a_finding(IMAGE, owner=RELEASE))
    assert '"/spec/template/spec/containers/N/image"' in text
    assert "kustomize" not in text
