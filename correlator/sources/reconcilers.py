"""The reconcilers behind what was scanned: whether they follow Git, and what they applied."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from correlator.classify.rule import Following
from correlator.finding import Finding, Incomplete
from correlator.live.source import Kind, KindUnavailable, KindUnknown, Live
from correlator.sources import argocd, flux
from correlator.sources.argocd import argocd_findings
from correlator.sources.flux import flux_findings, inventory_of
from correlator.sources.grace_period import is_at_work, lasting
from correlator.sources.ignore_rules import Ignore, ignores_of, system_ignores_of
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import reconciler_of
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import Path, path_of

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
    common: dict[Owner, frozenset[Path]] = field(default_factory=dict)
    """The labels and annotations that each puts on all that it applies."""
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
        # Without a name it is about all of those of one kind.
        incomplete += [
            why
            for owner, why in self.misread
            if _is_among(owner, owners) or (not owner.app and owner.kind in kinds)
        ]
        return findings, incomplete

    def puts(self, owner: Owner | None, finding: Finding) -> bool:
        """Return whether *owner* is told to add what *finding* is about: Git says so elsewhere."""
        if finding.declared is not ABSENT or owner is None:
            return False
        return any(
            finding.field in paths
            for each, paths in self.common.items()
            if _is_among(each, frozenset({owner}))
        )

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

    def ask_argocd(self, live: Live) -> None:
        """Ask each Argo CD what all of its Applications ignore: one request for each."""
        for namespace in sorted(
            {each.namespace or "" for each in self.applied if _is_argocd(each)}
        ):
            try:
                config = live.one(Ref("", "v1", "ConfigMap", namespace, "argocd-cm"))
            except KindUnavailable:
                continue  # an Application may live in another namespace than its Argo CD
            owner = Owner("argocd", "", None, "Application")
            for each in system_ignores_of(config or {}, namespace):
                if isinstance(each, Ignore):
                    self.ignores.append(each)
                else:
                    self.misread.append((owner, each))

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
        is_argocd = _is_argocd(owner)
        found = argocd_findings(obj, owner) if is_argocd else flux_findings(obj, owner)
        self.says.append((owner, list(found)))
        self.common[owner] = frozenset(_common(obj))
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
    asked.ask_argocd(live)
    return asked


def reconcilers_of(live: Live, owners: frozenset[Owner]) -> Reconcilers:
    """Ask only the reconcilers of *owners*: one request for each."""
    asked = Reconcilers()
    for kind, app in sorted({(owner.kind, owner.app) for owner in owners if owner.app}):
        if kind in _KINDS:
            _ask(asked, live, kind, app)
    asked.ask_argocd(live)
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


def _is_argocd(owner: Owner) -> bool:
    return owner.engine == "argocd"


def _is_among(owner: Owner, wanted: frozenset[Owner]) -> bool:
    # Argo CD's marks leave the namespace out where it is Argo CD's own.
    return any(
        (each.engine, each.kind, each.app) == (owner.engine, owner.kind, owner.app)
        and each.namespace in (None, owner.namespace)
        for each in wanted
    )


def _common(obj: Object) -> Iterator[Path]:
    """Yield what *obj* adds to the metadata of all that it applies."""
    spec = _map(obj, "spec")
    several = spec.get("sources")
    sources = [_map(spec, "source"), *(several if isinstance(several, list) else ())]
    kustomize = [_map(each, "kustomize") for each in sources if isinstance(each, dict)]
    for found, labels, annotations in (
        (_map(spec, "commonMetadata"), "labels", "annotations"),
        *((each, "commonLabels", "commonAnnotations") for each in kustomize),
    ):
        yield from (path_of("metadata", "labels", key) for key in _map(found, labels))
        yield from (path_of("metadata", "annotations", key) for key in _map(found, annotations))


def _map(obj: Object, key: str) -> Object:
    value = obj.get(key)
    return value if isinstance(value, dict) else {}


def _trouble(findings: list[Finding]) -> str:
    """Return what of *findings* keeps a reconciler from following Git, for within a sentence."""
    if any(each.live is True or each.live == "true" for each in findings):
        return "is suspended"
    # Drift that Helm's controller has seen is what it follows, not what keeps it.
    said = [each for each in findings if str(each.field) != _DRIFTED]
    return f"does not follow Git ({said[0].ref}: {said[0].live})" if said else ""
