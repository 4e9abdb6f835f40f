"""Labels and annotations that engines put on what they apply: Git never declares them."""

from typing import Final

from glasswarden.kube.paths import Key, Path

_MARKED: Final = frozenset({"labels", "annotations"})

_DOMAINS: Final = (
    "argocd.argoproj.io", "configmanagement.gke.io", "configsync.gke.io", "config.k8s.io",
    "fleet.cattle.io", "helm.toolkit.fluxcd.io", "kapp.k14s.io", "kustomize.toolkit.fluxcd.io",
    "meta.helm.sh", "objectset.rio.cattle.io", "projectsveltos.io", "pulumi.com",
)  # fmt: skip
_KEYS: Final = frozenset({"app.kubernetes.io/instance", "app.kubernetes.io/managed-by"})
"""Argo CD tracks by the one where it is told to; Helm, Pulumi and Config Sync put the other."""


def is_engines_own(path: Path, marks: frozenset[tuple[str, str]]) -> bool:
    """Tell whether *path* leads to what an engine writes about itself; *marks* are more of it."""
    match path.steps:
        case (Key(name="metadata"), Key(name=place), Key(name=key)) if place in _MARKED:
            is_marked = (place.removesuffix("s"), key) in marks
            return is_marked or key in _KEYS or key.partition("/")[0] in _DOMAINS
        case _:
            return False
