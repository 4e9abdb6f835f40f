"""Which fields of a reconciler's own object steer it, and which merely poke it.

An Application or a Kustomization is written to all day by people who ask for a refresh or a sync.
That changes nothing about what Git says or whether it is obeyed; its spec and some switches do, its
finalizers (which say what goes with it), and a sync to something else than it follows.
"""

from typing import Final

from glasswarden.kube.diff import Change
from glasswarden.kube.paths import Key
from glasswarden.policy.touched import touched_metadata
from glasswarden.policy.write import Write

SWITCHES: Final = frozenset(
    {
        "argocd.argoproj.io/compare-options",
        "argocd.argoproj.io/skip-reconcile",
        "argocd.argoproj.io/sync-options",
        "fluxcd.controlplane.io/reconcile",
        "helm.toolkit.fluxcd.io/driftDetection",
        "kustomize.toolkit.fluxcd.io/prune",
        "kustomize.toolkit.fluxcd.io/reconcile",
        "kustomize.toolkit.fluxcd.io/ssa",
    }
)
"""Annotations and labels that make an engine leave something alone."""


def steers(write: Write, change: Change) -> bool:
    """Tell whether the engine would do something else after *change*, one of *write*'s."""
    match change.path.steps:
        case (Key("spec"), *_) | (Key("metadata"), Key("finalizers"), *_):
            return True
        case (Key("operation"), *_):
            return write.diverts
    return any(name in SWITCHES for _, name in touched_metadata(change))
