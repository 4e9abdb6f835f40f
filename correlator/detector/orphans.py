"""Objects that Git once declared and no longer does, and whether they may be pruned.

An orphan is known by the marks of an application whose other objects are declared. The plan says
what stands in the way; nothing here deletes.
"""

from dataclasses import dataclass
from typing import Final

from correlator.detector.detect import SOURCE
from correlator.finding import Finding
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import remove_noise
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Object, annotations_of, labels_of, metadata_of, ref_of
from glasswarden.kube.paths import ROOT

_DISABLED: Final = (
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
    ("kustomize.toolkit.fluxcd.io/reconcile", "disabled"),
    ("helm.sh/resource-policy", "keep"),
    ("client.lifecycle.config.k8s.io/deletion", "detach"),
    ("kapp.k14s.io/delete-strategy", "orphan"),
)
"""Annotations that tell an engine to leave an object alone."""

_FLUX: Final = "kustomize.toolkit.fluxcd.io/"
_ARGOCD_OPTIONS: Final = "argocd.argoproj.io/sync-options"
_ARGOCD_KEEP: Final = frozenset({"Prune=false", "Prune=confirm", "Delete=false", "Delete=confirm"})

_DATA: Final = frozenset(
    {"CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim"}
)
"""Kinds whose deletion takes more with it than the object."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What pruning an orphan would meet."""

    kept_by: str
    """The annotation or label that forbids it; empty where none does."""
    finalizers: tuple[str, ...]
    """What has to be finished before it is gone."""
    is_terminating: bool
    holds_data: bool

    @property
    def is_safe(self) -> bool:
        """Whether it may be pruned without asking anybody."""
        return not (self.kept_by or self.holds_data or self.is_terminating)


def orphaned(live: Object, owner: Owner, revision: str) -> Finding:
    """Return the finding that *live*, an object or its metadata, is one too many."""
    kept = remove_noise(live).get("metadata", {})
    if deleted := metadata_of(live).get("deletionTimestamp"):
        kept = {**kept, "deletionTimestamp": deleted}
    return Finding(ref_of(live), ROOT, ABSENT, {"metadata": kept}, None, SOURCE, revision, owner)


def prune_plan(orphan: Finding) -> PrunePlan:
    """Return what pruning *orphan* would meet."""
    live: Object = orphan.live
    finalizers = metadata_of(live).get("finalizers")
    return PrunePlan(
        _kept_by(live),
        tuple(map(str, finalizers)) if isinstance(finalizers, list) else (),
        "deletionTimestamp" in metadata_of(live),
        orphan.ref.kind in _DATA,
    )


def is_made_once(manifest: Object) -> bool:
    """Tell whether Flux applies *manifest* only where there is no such object."""
    marks = (annotations_of(manifest), labels_of(manifest))
    return any(str(each.get(f"{_FLUX}ssa", "")).lower() == "ifnotpresent" for each in marks)


def _kept_by(live: Object) -> str:
    annotations, labels = annotations_of(live), labels_of(live)
    for key, value in _DISABLED:
        # Flux takes a label for it too (`AnyInMetadata` in its ssa package).
        marks = (annotations, labels) if key.startswith(_FLUX) else (annotations,)
        if any(str(each.get(key, "")).lower() == value for each in marks):
            return f"{key}: {value}"
    options = {each.strip() for each in str(annotations.get(_ARGOCD_OPTIONS, "")).split(",")}
    if kept := sorted(options & _ARGOCD_KEEP):
        return f"{_ARGOCD_OPTIONS}: {kept[0]}"
    return ""
