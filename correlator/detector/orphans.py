"""Objects that Git once declared and no longer does, and whether they may be pruned.

An orphan carries the marks of an application whose other objects are declared. The plan lists what
prevents pruning; nothing here deletes.
"""

from dataclasses import dataclass
from typing import Final

from correlator.detector.detect import SOURCE
from correlator.finding import Finding
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import remove_noise
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import ENGINES
from glasswarden.kube.objects import Object, metadata_of, ref_of
from glasswarden.kube.paths import ROOT

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


def new_orphan(live: Object, owner: Owner, revision: str) -> Finding:
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
        _protection_of(live),
        tuple(map(str, finalizers)) if isinstance(finalizers, list) else (),
        "deletionTimestamp" in metadata_of(live),
        orphan.ref.kind in _DATA,
    )


def _protection_of(live: Object) -> str:
    return next(filter(None, (engine.drift.keeps(live) for engine in ENGINES)), "")
