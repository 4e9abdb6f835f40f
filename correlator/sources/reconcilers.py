"""The reconcilers behind what was scanned: whether they follow Git, and what they applied."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from correlator.classify.rule import Following
from correlator.finding import Finding, Incomplete
from correlator.live.source import Kind, KindUnavailable, KindUnknown, Live
from correlator.sources import argocd, flux
from correlator.sources.argocd import argocd_findings
from correlator.sources.flux import flux_findings, inventory_of
from correlator.sources.ignores import Ignore, ignores_of
from correlator.sources.patience import is_at_work, lasting
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.owners import Owner
from glasswarden.kube.reconcilers import reconciler_of

Place = tuple[str, str, str, str]
"""Group, kind, namespace and name."""

_KINDS: Final[dict[str, Kind]] = {
    "Kustomization": Kind("kustomize.toolkit.fluxcd.io", "v1", "Kustomization"),
    "HelmRelease": Kind("helm.toolkit.fluxcd.io", "v2", "HelmRelease"),
    "Application": Kind("argoproj.io", "v1alpha1", "Application"),
}
"""By the kind of owner: where its own object is."""


_DRIFTED: Final = "/status/conditions[type=Drifted]"


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
    applied: dict[Owner, str] = field(default_factory=dict)
    """The revision that each applied last; empty where it has applied none."""
    fetched: dict[Owner, Ref] = field(default_factory=dict)
    """Where each has what it applies from, where that is an object of its own."""

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

    def ask_sources(self, live: Live, owners: frozenset[Owner], apps: frozenset[str]) -> None:
        """Ask where those of *owners* and *apps* have it from: one that fails explains the rest."""
        wanted = {
            owner: ref
            for owner, ref in self.fetched.items()
            if owner.app in apps or _is_among(owner, owners)
        }
        for ref in dict.fromkeys(wanted.values()):
            try:
                found = live.one(ref)
            except KindUnavailable:
                continue  # the reconciler itself says so too, if later
            for owner in (each for each, its in wanted.items() if found and its == ref):
                self.says.append((owner, list(flux_findings(found or {}, owner))))

    def never_applied(self) -> frozenset[Owner]:
        """Return those that fail and have applied nothing yet: no object bears their marks."""
        return frozenset(
            owner
            for owner, found in self.says
            if not self.applied.get(owner) and not all(map(is_at_work, found))
        )

    def following(
        self, owners: frozenset[Owner], apps: frozenset[str], now: datetime
    ) -> dict[Owner, Following]:
        """Return how far those of *owners* and *apps* follow Git."""
        return {
            owner: Following(_trouble(self._lasting(owner, now)), applied)
            for owner, applied in self.applied.items()
            if owner.app in apps or _is_among(owner, owners)
        }

    def _lasting(self, owner: Owner, now: datetime) -> list[Finding]:
        return lasting((each for it, found in self.says if it == owner for each in found), now)

    def take(self, obj: Object, owner: Owner) -> None:
        """Take in what the own object of *owner* says."""
        is_argocd = owner.engine == "argocd"
        found = argocd_findings(obj, owner) if is_argocd else flux_findings(obj, owner)
        self.says.append((owner, list(found)))
        self.applied[owner] = argocd.applied_by(obj) if is_argocd else flux.applied_by(obj)
        if not is_argocd and (source := flux.source_of(obj)) is not None:
            self.fetched[owner] = source
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
    try:
        for obj in live.anywhere(_KINDS[name], app):
            owner = reconciler_of(ref_of(obj))
            if owner is not None:
                asked.take(obj, owner)
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


def _trouble(findings: list[Finding]) -> str:
    """Return what of *findings* keeps a reconciler from following Git, for within a sentence."""
    if any(each.live is True or each.live == "true" for each in findings):
        return "is suspended"
    # Drift that Helm's controller has seen is what it follows, not what keeps it.
    said = [each for each in findings if str(each.field) != _DRIFTED]
    return f"does not follow Git ({said[0].ref}: {said[0].live})" if said else ""
