"""The engines' own objects: what tells a GitOps engine what to do.

They are guarded whether or not another object in Git describes them: suspending one, pinning it to
another revision or teaching it to ignore a field is how drift begins unseen.
"""

from typing import Final

from glasswarden.kube.objects import Ref
from glasswarden.kube.owners.engine import Owner

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
