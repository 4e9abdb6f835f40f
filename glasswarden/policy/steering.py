"""Which fields of a reconciler's own object steer it, and which merely poke it.

An Application or a Kustomization is written to all day by people who ask for a refresh or a sync.
That changes nothing about what Git says or whether it is obeyed; its spec and some switches do.
"""

from typing import Final

from glasswarden.kube.diff import Change
from glasswarden.kube.paths import Key
from glasswarden.policy.touched import touched_metadata
from glasswarden.policy.write import Write

SWITCHES: Final = frozenset(
    {
        "argocd.argoproj.io/skip-reconcile",
        "helm.toolkit.fluxcd.io/driftDetection",
        "kustomize.toolkit.fluxcd.io/prune",
        "kustomize.toolkit.fluxcd.io/reconcile",
        "kustomize.toolkit.fluxcd.io/ssa",
    }
)
"""Annotations and labels that make an engine leave something alone."""


def steering_changes(write: Write) -> tuple[Change, ...]:
    """Return the changes of *write* after which the engine would do something else."""
    return tuple(change for change in write.changes if _steers(change))


def _steers(change: Change) -> bool:
    if change.path.steps[:1] == (Key("spec"),):
        return True
    return any(name in SWITCHES for _, name in touched_metadata(change))
