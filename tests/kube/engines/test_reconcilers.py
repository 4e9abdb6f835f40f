"""`reconcilers`: the engines' own objects are known by their kind, marked or not."""

import pytest

from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import reconciler_of
from glasswarden.kube.objects import Ref


@pytest.mark.parametrize(
    ("group", "kind", "engine"),
    [
        ("argoproj.io", "Application", "argocd"),
        ("argoproj.io", "AppProject", "argocd"),
        ("argoproj.io", "ApplicationSet", "argocd"),
        ("kustomize.toolkit.fluxcd.io", "Kustomization", "flux"),
        ("helm.toolkit.fluxcd.io", "HelmRelease", "flux"),
        ("source.toolkit.fluxcd.io", "GitRepository", "flux"),
        ("source.toolkit.fluxcd.io", "OCIRepository", "flux"),
        ("configsync.gke.io", "RootSync", "configsync"),
        ("configsync.gke.io", "RepoSync", "configsync"),
        ("fleet.cattle.io", "GitRepo", "fleet"),
    ],
)
def test_kind_of_a_reconciler_is_its_own_application(group: str, kind: str, engine: str) -> None:
    ref = Ref(group, "v1", kind, "ops", "apps")
    assert reconciler_of(ref) == Owner(engine, "apps", "ops", kind)


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("apps", "Deployment"),
        ("kustomize.config.k8s.io", "Kustomization"),
        ("argoproj.io", "Workflow"),
        ("app.k8s.io", "Application"),
    ],
)
def test_kind_with_only_the_name_or_group_is_no_reconciler(group: str, kind: str) -> None:
    assert reconciler_of(Ref(group, "v1", kind, "ops", "apps")) is None


def test_cluster_scoped_reconciler_has_no_namespace() -> None:
    ref = Ref("config.projectsveltos.io", "v1beta1", "ClusterProfile", "", "base")
    assert reconciler_of(ref) == Owner("sveltos", "base", None, "ClusterProfile")
