"""`owners`: the GitOps engine and application behind an object."""

import pytest

from glasswarden.kube.engines import helm, pulumi
from glasswarden.kube.engines.argocd import ArgoCD, Tracking, argocd
from glasswarden.kube.engines.custom import custom
from glasswarden.kube.engines.engine import Engine, Mark, Owner
from glasswarden.kube.engines.registry import DEFAULT_ENGINES, ENGINES, marks_of, owner_of
from glasswarden.kube.objects import Object
from tests.kube.builders import an_object

TRACKING_ID = "argocd.argoproj.io/tracking-id"
INSTALLATION_ID = "argocd.argoproj.io/installation-id"

FLUX = {
    "kustomize.toolkit.fluxcd.io/name": "apps",
    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
}
HELM_RELEASE = {
    "helm.toolkit.fluxcd.io/name": "web",
    "helm.toolkit.fluxcd.io/namespace": "prod",
}
HELM = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "prod"}


def tracked(tracking_id: str, **more: str) -> dict[str, str]:
    return {TRACKING_ID: tracking_id, **more}


OWNED = [
    pytest.param(
        an_object(annotations=tracked("web:apps/Deployment:prod/web")),
        Owner("argocd", "web", None, "Application"),
        id="Argo CD",
    ),
    pytest.param(
        an_object("v1/Service", annotations=tracked("web:/Service:prod/web")),
        Owner("argocd", "web", None, "Application"),
        id="Argo CD, core group",
    ),
    pytest.param(
        an_object(annotations=tracked("team_web:apps/Deployment:prod/web")),
        Owner("argocd", "web", "team", "Application"),
        id="Argo CD, application in another namespace",
    ),
    pytest.param(
        an_object(
            "rbac.authorization.k8s.io/v1/ClusterRole",
            name="view",
            namespace="",
            annotations=tracked("web:rbac.authorization.k8s.io/ClusterRole:prod/view"),
        ),
        Owner("argocd", "web", None, "Application"),
        id="Argo CD, cluster-scoped: the namespace is where the application deploys to",
    ),
    pytest.param(
        an_object(
            "rbac.authorization.k8s.io/v1/Role",
            name="system:view",
            annotations=tracked("web:rbac.authorization.k8s.io/Role:prod/system:view"),
        ),
        Owner("argocd", "web", None, "Application"),
        id="Argo CD, a name with a colon",
    ),
    pytest.param(
        an_object(labels=FLUX),
        Owner("flux", "apps", "flux-system", "Kustomization"),
        id="Flux Kustomization",
    ),
    pytest.param(
        an_object(labels=HELM_RELEASE | {"app.kubernetes.io/managed-by": "Helm"}, annotations=HELM),
        Owner("flux", "web", "prod", "HelmRelease"),
        id="Flux HelmRelease",
    ),
    pytest.param(
        an_object(
            annotations={
                "configmanagement.gke.io/managed": "enabled",
                "configsync.gke.io/resource-id": "apps_deployment_prod_web",
                "configsync.gke.io/manager": ":root_platform",
            }
        ),
        Owner("configsync", "platform", "config-management-system", "RootSync"),
        id="Config Sync, a RootSync",
    ),
    pytest.param(
        an_object(
            "v1/Namespace",
            name="prod",
            namespace="",
            annotations={
                "configmanagement.gke.io/managed": "enabled",
                "configsync.gke.io/resource-id": "_namespace_prod",
                "configsync.gke.io/manager": ":root",
            },
        ),
        Owner("configsync", "root-sync", "config-management-system", "RootSync"),
        id="Config Sync, core group, cluster-scoped, the default RootSync",
    ),
    pytest.param(
        an_object(
            annotations={
                "configmanagement.gke.io/managed": "enabled",
                "configsync.gke.io/resource-id": "apps_deployment_prod_web",
                "configsync.gke.io/manager": "prod",
            }
        ),
        Owner("configsync", "repo-sync", "prod", "RepoSync"),
        id="Config Sync, the default RepoSync",
    ),
    pytest.param(
        an_object(
            labels={"objectset.rio.cattle.io/hash": "9f0a573d"},
            annotations={"objectset.rio.cattle.io/id": "default-shop-cattle-fleet-local-system"},
        ),
        Owner("fleet", "shop", None, "Bundle"),
        id="Fleet",
    ),
    pytest.param(
        an_object(
            labels={"objectset.rio.cattle.io/hash": "9f0a573d"},
            annotations={
                "objectset.rio.cattle.io/id": "bundle",
                "objectset.rio.cattle.io/owner-gvk": "fleet.cattle.io/v1alpha1, Kind=GitRepo",
                "objectset.rio.cattle.io/owner-name": "shop",
                "objectset.rio.cattle.io/owner-namespace": "fleet-local",
            },
        ),
        Owner("fleet", "shop", "fleet-local", "GitRepo"),
        id="Fleet, with an owner",
    ),
    pytest.param(
        an_object(
            labels={"kapp.k14s.io/app": "1645205001589335916"},
            annotations={"kapp.k14s.io/identity": "v1;prod/apps/Deployment/web;apps/v1beta1"},
        ),
        Owner("kapp", "1645205001589335916", None, "App"),
        id="kapp",
    ),
    pytest.param(
        an_object(
            annotations={
                "projectsveltos.io/owner-kind": "ClusterProfile",
                "projectsveltos.io/owner-name": "base",
                "projectsveltos.io/reference-kind": "ConfigMap",
                "projectsveltos.io/reference-name": "base-config",
            }
        ),
        Owner("sveltos", "base", None, "ClusterProfile"),
        id="Sveltos",
    ),
    pytest.param(
        an_object(
            annotations={
                "projectsveltos.io/reference-kind": "ConfigMap",
                "projectsveltos.io/reference-name": "base-config",
                "projectsveltos.io/reference-namespace": "mgmt",
            }
        ),
        Owner("sveltos", "base-config", "mgmt", "ConfigMap"),
        id="Sveltos, only the source is known",
    ),
]

NOT_OWNED = [
    pytest.param(an_object(), id="no mark"),
    pytest.param(an_object(annotations=tracked("web")), id="Argo CD: malformed"),
    pytest.param(an_object(annotations=tracked("web:apps:prod/web")), id="Argo CD: no kind"),
    pytest.param(
        an_object(annotations=tracked(":apps/Deployment:prod/web")), id="Argo CD: no application"
    ),
    pytest.param(
        an_object(annotations=tracked("web:apps/Deployment:prod/other")),
        id="Argo CD: copied from another name",
    ),
    pytest.param(
        an_object(annotations=tracked("web:apps/Deployment:test/web")),
        id="Argo CD: copied from another namespace",
    ),
    pytest.param(
        an_object(annotations=tracked("web:apps/StatefulSet:prod/web")),
        id="Argo CD: copied from another kind",
    ),
    pytest.param(
        an_object(annotations=tracked("web:extensions/Deployment:prod/web")),
        id="Argo CD: copied from another group",
    ),
    pytest.param(
        an_object(labels={"app.kubernetes.io/instance": "web"}),
        id="the instance label, which every Helm chart sets",
    ),
    pytest.param(
        an_object(labels={"kustomize.toolkit.fluxcd.io/name": "apps"}), id="Flux: half a mark"
    ),
    pytest.param(
        an_object(
            annotations={
                "configmanagement.gke.io/managed": "disabled",
                "configsync.gke.io/resource-id": "apps_deployment_prod_web",
            }
        ),
        id="Config Sync: management disabled",
    ),
    pytest.param(
        an_object(
            annotations={
                "configmanagement.gke.io/managed": "enabled",
                "configsync.gke.io/resource-id": "apps_deployment_prod_other",
            }
        ),
        id="Config Sync: copied",
    ),
    pytest.param(
        an_object(
            labels={"objectset.rio.cattle.io/hash": "9f0a573d"},
            annotations={
                "objectset.rio.cattle.io/id": "",
                "objectset.rio.cattle.io/owner-gvk": "k3s.cattle.io/v1, Kind=Addon",
                "objectset.rio.cattle.io/owner-name": "local-storage",
            },
        ),
        id="Fleet: an Addon of k3s",
    ),
    pytest.param(
        an_object(
            labels={"kapp.k14s.io/app": "1645205001589335916"},
            annotations={"kapp.k14s.io/identity": "v1;prod/apps/Deployment/other;apps/v1"},
        ),
        id="kapp: copied",
    ),
    pytest.param(
        an_object(labels={"app.kubernetes.io/managed-by": "Helm"}, annotations=HELM),
        id="plain Helm, unless asked for",
    ),
    pytest.param(
        an_object(labels={"app.kubernetes.io/managed-by": "pulumi"}),
        id="Pulumi, unless asked for",
    ),
    pytest.param({"metadata": {"labels": None, "annotations": [TRACKING_ID]}}, id="not an object"),
    pytest.param({"metadata": {"annotations": {TRACKING_ID: 7}}}, id="a mark that is no text"),
]


@pytest.mark.parametrize(("obj", "owner"), OWNED)
def test_marks_name_the_owner(obj: Object, owner: Owner) -> None:
    assert owner_of(obj) == owner


@pytest.mark.parametrize("obj", NOT_OWNED)
def test_object_without_valid_marks_has_no_owner(obj: Object) -> None:
    assert owner_of(obj) is None


@pytest.mark.parametrize(("obj", "owner"), OWNED)
def test_every_owned_object_has_a_sign_of_its_engine(obj: Object, owner: Owner) -> None:
    """What is tested first, and outside this process, must not miss an owned object."""
    (engine,) = [each for each in DEFAULT_ENGINES if each.name == owner.engine]
    labels = obj["metadata"].get("labels", {})
    annotations = obj["metadata"].get("annotations", {})
    assert any(
        sign.key in (labels if sign.kind == "label" else annotations) for sign in engine.signs
    )
    assert set(engine.signs) <= set(engine.marks)


def test_object_with_a_controller_has_no_owner_despite_inherited_marks() -> None:
    pod = an_object(
        "v1/Pod",
        labels=FLUX,
        metadata={"ownerReferences": [{"kind": "ReplicaSet", "name": "web-1", "controller": True}]},
    )
    assert owner_of(pod) is None


def test_owner_reference_without_controller_does_not_change_the_owner() -> None:
    config = an_object("v1/ConfigMap", labels=FLUX, metadata={"ownerReferences": [{"kind": "Job"}]})
    assert owner_of(config) == Owner("flux", "apps", "flux-system", "Kustomization")


def test_endpoints_with_inherited_labels_have_no_owner() -> None:
    made = FLUX | {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert owner_of(an_object("v1/Endpoints", labels=made)) is None
    assert owner_of(an_object("v1/Endpoints", labels=FLUX)) is not None


def test_engine_takes_precedence_over_helm() -> None:
    obj = an_object(labels=FLUX | {"app.kubernetes.io/managed-by": "Helm"}, annotations=HELM)
    owner = owner_of(obj, ENGINES)
    assert owner is not None
    assert owner.engine == "flux"


class TestArgoCDSettings:
    """One installation of Argo CD may differ from its defaults."""

    @pytest.mark.parametrize("method", ["annotation", "annotation+label"])
    def test_annotation_tracking_reads_the_annotation_only(self, method: Tracking) -> None:
        engine = argocd(ArgoCD(tracking=method))
        assert owner_of(an_object(labels={"app.kubernetes.io/instance": "web"}), (engine,)) is None
        obj = an_object(annotations=tracked("web:apps/Deployment:prod/web"))
        assert owner_of(obj, (engine,)) == Owner("argocd", "web", None, "Application")

    def test_label_tracking_reads_the_label_only(self) -> None:
        engine = argocd(ArgoCD(tracking="label"))
        obj = an_object(labels={"app.kubernetes.io/instance": "team_web"})
        assert owner_of(obj, (engine,)) == Owner("argocd", "web", "team", "Application")
        assert (
            owner_of(an_object(annotations=tracked("a:apps/Deployment:prod/web")), (engine,))
            is None
        )

    def test_label_key_is_configurable(self) -> None:
        engine = argocd(ArgoCD(tracking="label", instance_label_key="example.com/app"))
        assert engine.marks == (Mark("label", "example.com/app"),)
        assert owner_of(an_object(labels={"app.kubernetes.io/instance": "web"}), (engine,)) is None
        assert owner_of(an_object(labels={"example.com/app": "web"}), (engine,)) is not None

    @pytest.mark.parametrize(
        ("configured", "carried", "owned"),
        [
            (None, {}, True),
            (None, {INSTALLATION_ID: "east"}, True),
            ("east", {INSTALLATION_ID: "east"}, True),
            ("east", {INSTALLATION_ID: "west"}, False),
            ("east", {}, False),
        ],
        ids=["none", "any", "ours", "another's", "missing"],
    )
    def test_installation_id_distinguishes_installations(
        self,
        configured: str | None,
        carried: dict[str, str],
        owned: bool,  # noqa: FBT001 - an expectation
    ) -> None:
        engine = argocd(ArgoCD(installation_id=configured))
        obj = an_object(annotations=tracked("web:apps/Deployment:prod/web") | carried)
        assert (owner_of(obj, (engine,)) is not None) == owned


class TestOptionalEngines:
    """Helm and Pulumi count only where the policy names them."""

    def test_helm_owner_needs_label_and_annotations(self) -> None:
        label = {"app.kubernetes.io/managed-by": "Helm"}
        owned = an_object(labels=label, annotations=HELM)
        assert owner_of(owned, (helm.ENGINE,)) == Owner("helm", "web", "prod")
        assert owner_of(an_object(annotations=HELM), (helm.ENGINE,)) is None
        assert owner_of(an_object(labels=label), (helm.ENGINE,)) is None

    def test_pulumi_owner_has_no_application_name(self) -> None:
        obj = an_object(labels={"app.kubernetes.io/managed-by": "pulumi"})
        assert owner_of(obj, (pulumi.ENGINE,)) == Owner("pulumi", "", None)


PIPELINE = Mark("annotation", "example.com/pipeline")


class TestCustomMarkers:
    """A policy may name marks of its own."""

    @pytest.mark.parametrize(
        ("engine", "obj", "owner"),
        [
            pytest.param(
                custom("pipeline", PIPELINE),
                an_object(annotations={"example.com/pipeline": "shop"}),
                Owner("pipeline", "shop", None),
                id="any value, which names the application",
            ),
            pytest.param(
                custom("pipeline", Mark("label", "example.com/git", "true")),
                an_object(labels={"example.com/git": "true"}),
                Owner("pipeline", "", None),
                id="one value, which names nothing",
            ),
            pytest.param(
                custom("pipeline", Mark("label", "example.com/git", "true")),
                an_object(labels={"example.com/git": "false"}),
                None,
                id="another value",
            ),
            pytest.param(
                custom("pipeline", PIPELINE, app=Mark("label", "app")),
                an_object(labels={"app": "shop"}, annotations={"example.com/pipeline": "42"}),
                Owner("pipeline", "shop", None),
                id="the application named elsewhere",
            ),
            pytest.param(
                custom("pipeline", Mark("label", "example.com/git")),
                an_object(labels={"example.com/git": ""}),
                Owner("pipeline", "", None),
                id="no value, where any is right",
            ),
            pytest.param(
                custom("pipeline", PIPELINE),
                an_object(labels={"example.com/pipeline": "shop"}),
                None,
                id="a label where an annotation is wanted",
            ),
        ],
    )
    def test_custom_marker_names_the_owner(
        self, engine: Engine, obj: Object, owner: Owner | None
    ) -> None:
        assert owner_of(obj, (engine,)) == owner


def test_marks_have_the_path_of_their_label_or_annotation() -> None:
    marks = {str(mark.path) for mark in marks_of(DEFAULT_ENGINES)}
    assert "/metadata/annotations/argocd.argoproj.io~1tracking-id" in marks
    assert "/metadata/labels/kustomize.toolkit.fluxcd.io~1name" in marks


def test_engines_have_the_names_that_policies_use() -> None:
    names = [engine.name for engine in ENGINES]
    assert names == [
        "argocd",
        "flux",
        "configsync",
        "fleet",
        "kapp",
        "sveltos",
        "helm",
        "pulumi",
    ]
