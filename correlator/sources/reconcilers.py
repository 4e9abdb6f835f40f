"""The reconcilers behind what was scanned: whether they follow Git, and what they applied."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from correlator.finding import Finding, Incomplete
from correlator.live.source import Kind, KindUnavailable, KindUnknown, Live
from correlator.sources.argocd import argocd_findings
from correlator.sources.flux import flux_findings, inventory_of
from correlator.sources.ignores import Ignore, ignores_of
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.owners import Owner
from glasswarden.kube.reconcilers import reconciler_of

Place = tuple[str, str, str, str]
"""Group, kind, namespace and name."""

Read = Callable[[Object, Owner], Iterator[Finding]]

_KINDS: Final[dict[str, tuple[Kind, Read]]] = {
    "Kustomization": (Kind("kustomize.toolkit.fluxcd.io", "v1", "Kustomization"), flux_findings),
    "HelmRelease": (Kind("helm.toolkit.fluxcd.io", "v2", "HelmRelease"), flux_findings),
    "Application": (Kind("argoproj.io", "v1alpha1", "Application"), argocd_findings),
}
"""By the kind of owner: where its own object is, and who reads it."""


@dataclass(slots=True)
class Reconcilers:
    """What the reconcilers of a cluster say."""

    says: list[tuple[Owner, list[Finding]]] = field(default_factory=list)
    inventory: dict[Place, Owner] = field(default_factory=dict)
    """Who applied what."""
    ignores: list[Ignore] = field(default_factory=list)
    """What Applications were told to leave alone."""
    misread: list[tuple[Owner, Incomplete]] = field(default_factory=list)
    unseen: dict[str, Incomplete] = field(default_factory=dict)
    """Why those of a kind could not be asked."""

    def about(
        self, owners: frozenset[Owner], apps: frozenset[str]
    ) -> tuple[list[Finding], list[Incomplete]]:
        """Return what is known of the reconcilers of *owners*, and of those named in *apps*."""
        findings = [
            finding
            for owner, found in self.says
            if owner.app in apps or _is_among(owner, owners)
            for finding in found
        ]
        kinds = {owner.kind for owner in owners}
        incomplete = [why for kind, why in self.unseen.items() if kind in kinds]
        incomplete += [why for owner, why in self.misread if _is_among(owner, owners)]
        return findings, incomplete

    def take(self, obj: Object, owner: Owner, read: Read) -> None:
        """Take in what the own object of *owner* says."""
        self.says.append((owner, list(read(obj, owner))))
        self.inventory |= dict.fromkeys(inventory_of(obj), owner)
        for each in ignores_of(obj, owner) if owner.engine == "argocd" else ():
            if isinstance(each, Ignore):
                self.ignores.append(each)
            else:
                self.misread.append((owner, each))


def read_reconcilers(live: Live) -> Reconcilers:
    """Ask every reconciler that is known: one list for each kind of them."""
    asked = Reconcilers()
    for name in _KINDS:
        _ask(asked, live, name)
    return asked


def reconcilers_of(live: Live, owners: frozenset[Owner]) -> Reconcilers:
    """Ask only the reconcilers of *owners*: one request for each."""
    asked = Reconcilers()
    for kind, app in sorted({(owner.kind, owner.app) for owner in owners if owner.app}):
        if kind in _KINDS:
            _ask(asked, live, kind, app)
    return asked


def _ask(asked: Reconcilers, live: Live, name: str, app: str = "") -> None:
    """Let *asked* take in the reconcilers of the kind *name*, or those called *app*."""
    kind, read = _KINDS[name]
    try:
        for obj in live.anywhere(kind, app):
            owner = reconciler_of(ref_of(obj))
            if owner is not None:
                asked.take(obj, owner, read)
    except KindUnknown:
        return  # the engine lives in another cluster, or nowhere
    except KindUnavailable as error:
        asked.unseen[name] = error.incomplete


def _is_among(owner: Owner, wanted: frozenset[Owner]) -> bool:
    # Argo CD's marks leave the namespace out where it is Argo CD's own.
    return any(
        (each.engine, each.kind, each.app) == (owner.engine, owner.kind, owner.app)
        and each.namespace in (None, owner.namespace)
        for each in wanted
    )
