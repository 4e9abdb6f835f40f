"""Whose object is it? The GitOps engine and application behind an object's labels and annotations.

To add an engine: one file with its `ENGINE`, one line below. Nothing here asks a cluster, so the
answer is what the object says of itself; a mark that was evidently copied from another object is
not ownership.

The engines' own objects: what tells a GitOps engine what to do.

They are guarded whether or not another object in Git describes them: suspending one, pinning it to
another revision or teaching it to ignore a field is how drift begins unseen.
"""

from typing import Final

from glasswarden.kube.engines import argocd, configsync, fleet, flux, helm, kapp, pulumi, sveltos
from glasswarden.kube.engines.engine import Engine, Mark, Owner, Subject, subject_of
from glasswarden.kube.objects import Object, Ref, has_controller

DEFAULT_ENGINES: Final[tuple[Engine, ...]] = (
    argocd.ENGINE,
    flux.ENGINE,
    configsync.ENGINE,
    fleet.ENGINE,
    kapp.ENGINE,
    sveltos.ENGINE,
)
"""In the order they are asked; Helm comes after them, for they deploy charts themselves."""

OPTIONAL_ENGINES: Final[tuple[Engine, ...]] = (
    helm.ENGINE,
    pulumi.ENGINE,
)
"""Known, but only asked where the policy names them."""

_ENDPOINTS_LABEL: Final = "endpoints.kubernetes.io/managed-by"


def owner_of(obj: Object, engines: tuple[Engine, ...] = DEFAULT_ENGINES) -> Owner | None:
    """Return the owner that the first of *engines* to claim *obj* names, or nothing.

    A child that Kubernetes made from an owned object is its controller's, not Git's: pods inherit
    the labels and annotations of their template, marks included, and are replaced at will.
    """
    subject = subject_of(obj)
    for engine in engines:
        owner = engine.claim(subject)
        if owner is not None:
            return None if has_controller(obj) or _is_endpoints_of_service(subject) else owner
    return None


def marks_of(engines: tuple[Engine, ...]) -> frozenset[Mark]:
    """Return every mark of *engines*."""
    return frozenset(mark for engine in engines for mark in engine.marks)


def _is_endpoints_of_service(subject: Subject) -> bool:
    # The endpoints controller copies its Service's labels but sets no ownerReference.
    return (
        subject.ref.kind == "Endpoints"
        and subject.ref.group == ""
        and subject.label(_ENDPOINTS_LABEL) == "endpoint-controller"
    )


RECONCILERS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "argocd": {
        "argoproj.io": ("Application", "ApplicationSet", "AppProject"),
    },
    "flux": {
        "kustomize.toolkit.fluxcd.io": ("Kustomization",),
        "helm.toolkit.fluxcd.io": ("HelmRelease",),
        "source.toolkit.fluxcd.io": (
            "Bucket",
            "ExternalArtifact",
            "GitRepository",
            "HelmChart",
            "HelmRepository",
            "OCIRepository",
        ),
        "source.extensions.fluxcd.io": ("ArtifactGenerator",),
        "fluxcd.controlplane.io": ("FluxInstance", "ResourceSet", "ResourceSetInputProvider"),
    },
    "configsync": {
        "configsync.gke.io": ("RepoSync", "RootSync"),
    },
    "fleet": {
        "fleet.cattle.io": ("Bundle", "BundleDeployment", "GitRepo", "HelmOp"),
    },
    "kapp": {
        "kappctrl.k14s.io": ("App",),
        "packaging.carvel.dev": ("PackageInstall", "PackageRepository"),
    },
    "sveltos": {
        "config.projectsveltos.io": ("ClusterProfile", "Profile"),
    },
    "pulumi": {
        "pulumi.com": ("Stack",),
    },
}
"""The kinds that steer each engine, by API group."""

_ENGINES: Final = {
    (group, kind): engine
    for engine, groups in RECONCILERS.items()
    for group, kinds in groups.items()
    for kind in kinds
}


def reconciler_of(ref: Ref) -> Owner | None:
    """Return *ref* as the owner it is to other objects, or nothing when it is no reconciler's."""
    engine = _ENGINES.get((ref.group, ref.kind))
    if engine is None:
        return None
    return Owner(engine, ref.name, ref.namespace or None, ref.kind)
