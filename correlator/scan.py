"""One pass: everything that is declared against everything that is live.

Level-triggered: a pass works from what is there now, and a missed event costs nothing. What cannot
be looked at is said in the result; it never reads as "no drift".
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from correlator.classify import Scene
from correlator.conclude import concluded
from correlator.confirm import Confirmation
from correlator.declared.documents import Declared, Manifests
from correlator.detector.detect import Detector
from correlator.detector.meaning import declared_form
from correlator.detector.orphans import orphaned
from correlator.detector.rollouts import is_rolling_out
from correlator.finding import Finding, Hidden, Incomplete, Result, in_order
from correlator.linking import Linking, unlinked
from correlator.live.autoscalers import Scaled, autoscaled_in
from correlator.live.source import Kind, KindUnavailable, Live
from correlator.sources.reconcilers import Reconcilers, read_reconcilers
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.equality import identical
from glasswarden.kube.lookup import value_at
from glasswarden.kube.managed import entries_of
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.owners import Owner, owner_of
from glasswarden.kube.paths import ROOT, are_nested
from glasswarden.kube.schema import shape_of

Key: TypeAlias = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a pass has come."""

    kinds: int
    of: int
    objects: int


def _ignore(_: Progress) -> None:
    """Tell nobody."""


@dataclass(slots=True)
class Scan:
    """A pass, and what it has found so far."""

    detector: Detector
    manifests: Manifests
    live: Live
    tell: Callable[[Progress], None] = _ignore
    chosen: Callable[[Ref], bool] = lambda _: True
    """Which of the declared objects count."""

    apps: frozenset[str] = frozenset()
    """Applications whose objects count as orphans even if none of what they declare is live."""

    found: dict[tuple[str, str, Key], list[Finding]] = field(default_factory=dict)
    """The findings of each declared object, by group, kind, namespace and name."""
    incomplete: list[Incomplete] = field(default_factory=list)
    declared: dict[Kind, dict[Key, Declared]] = field(default_factory=dict)
    _compared: set[tuple[str, str, Key]] = field(default_factory=set)
    _rolling: set[Ref] = field(default_factory=set)
    _owners: set[Owner] = field(default_factory=set)
    _strays: list[tuple[Owner, Object]] = field(default_factory=list)
    _behind: list[Finding] = field(default_factory=list)
    _told: list[Finding] = field(default_factory=list)
    _reconcilers: Reconcilers = field(default_factory=Reconcilers)
    _unmanaged: int = 0
    _objects: int = 0

    def run(self) -> None:
        """Look at everything once."""
        self.incomplete = list(self.manifests.incomplete)
        self._index()
        self._reconcilers = read_reconcilers(self.live)
        for done, (kind, wanted) in enumerate(self.declared.items()):
            self.tell(Progress(done, len(self.declared), self._objects))
            self._look_at(kind, wanted)
        self._look_for_orphans()
        self._ask_reconcilers()
        self.tell(Progress(len(self.declared), len(self.declared), self._objects))
        if self._unmanaged:
            what = f"additions in {self._unmanaged} objects"
            why = "they carry no managedFields, which tell who holds a field"
            self.incomplete.append(Incomplete(what, why, Hidden.ADDITIONS))

    def result(self, scene: Scene, linked: Linking = unlinked) -> Result:
        """Return what was found, linked, classified and in order, with secrets hidden."""
        findings = [each for found in self.found.values() for each in found]
        findings += [*self._behind, *self._told]
        orphans = [
            orphaned(live, owner, self.manifests.revision)
            for owner, live in self._orphans()
            if self.chosen(ref_of(live))
        ]
        found = sorted((*findings, *orphans), key=in_order)
        return Result(concluded(found, scene, linked), tuple(dict.fromkeys(self.incomplete)))

    def has_compared(self, ref: Ref) -> bool:
        """Tell whether the object was held against Git with all that was added to it."""
        return (ref.group, ref.kind, (ref.namespace, ref.name)) in self._compared

    def take(self, told: Result) -> None:
        """Take in what another source tells, except where comparing with Git tells better."""
        self.incomplete += told.incomplete
        self._told += self.beside(told.findings)

    def beside(self, told: Iterable[Finding]) -> list[Finding]:
        """Return what another source tells, except where comparing with Git tells better."""
        known = {(each.ref, each.field) for each in self._behind}
        orphans = {ref_of(live) for _, live in self._orphans()}
        news = (
            self._beside_git(each)
            for each in told
            if each.ref not in orphans and (each.ref, each.field) not in known
        )
        return [each for each in news if each is not None]

    def _beside_git(self, finding: Finding) -> Finding | None:
        """Return *finding* as far as Git does not already say what is to be said about it."""
        ref = finding.ref
        key = ref.namespace, ref.name
        known = self.found.get((ref.group, ref.kind, key))
        if known is None:
            # What its application no longer declares is rightly gone.
            is_ours = finding.owner in self._owners and not self.manifests.incomplete
            return None if finding.is_missing_object and is_ours else finding
        if finding.field == ROOT or any(are_nested(each.field, finding.field) for each in known):
            return None
        declared = self._declared_at(ref.group, ref.kind, key)
        if value_at(declared_form(declared.manifest, ref), finding.field) is not ABSENT:
            return None  # the same by its meaning
        return replace(
            finding,
            declared=ABSENT,
            revision=self.manifests.revision,
            origin=declared.origin,
        )

    def _declared_at(self, group: str, kind: str, key: Key) -> Declared:
        return next(
            places[key]
            for each, places in self.declared.items()
            if (each.group, each.name) == (group, kind) and key in places
        )

    def confirm(self, confirmation: Confirmation) -> None:
        """Drop what applying Git would not change."""
        for kind, places in self.declared.items():
            for key, declared in places.items():
                place = kind.group, kind.name, key
                kept, unasked = confirmation.confirmed(declared, self.found.get(place, []))
                self.found[place] = kept
                self.incomplete += unasked

    def scene(self, scene: Scene) -> Scene:
        """Return *scene* with what this pass has seen."""
        return replace(
            scene,
            rolling=frozenset(self._rolling),
            autoscaled=self._autoscaled(),
            ignores=tuple(each.covers for each in self._reconcilers.ignores),
        )

    def judge(self, kind: Kind, key: Key, live: Object | None) -> None:
        """Compare one declared object with *live*, nothing where the cluster lacks it."""
        declared = self.declared[kind][key]
        if live is None:
            group, version, name = kind
            findings = [self.detector.missing(declared, Ref(group, version, name, *key))]
        else:
            findings = [
                each
                for each in self.detector.compared(declared, live)
                if not self._is_schema_default(kind, each)
            ]
            if findings and is_rolling_out(live):
                self._rolling.add(findings[0].ref)
        self.found[kind.group, kind.name, key] = findings

    def _is_schema_default(self, kind: Kind, finding: Finding) -> bool:
        """Tell whether an addition to a custom resource says what its schema says anyway."""
        if finding.declared is not ABSENT or shape_of(finding.ref).typed:
            return False
        default = self.live.default_at(kind, finding.field)
        return default is not ABSENT and identical(default, finding.live)

    def _index(self) -> None:
        """Sort what is declared by kind and place."""
        for each in self.manifests.objects:
            try:
                ref = self.live.located(ref_of(each.manifest))
            except KindUnavailable as error:
                self.incomplete.append(error.incomplete)
                continue
            if not self.chosen(ref):
                continue
            places = self.declared.setdefault(Kind(ref.group, ref.version, ref.kind), {})
            if known := places.get((ref.namespace, ref.name)):
                why = f"declared twice, in {known.origin} and {each.origin}; the latter counts"
                self.incomplete.append(Incomplete(str(ref), why, Hidden.NONE))
            places[ref.namespace, ref.name] = each

    def _look_at(self, kind: Kind, wanted: dict[Key, Declared]) -> None:
        namespaces = frozenset(namespace for namespace, _ in wanted)
        seen: set[Key] = set()
        try:
            for live in self.live.objects(kind, namespaces):
                self._objects += 1
                ref = ref_of(live)
                key = ref.namespace, ref.name
                if key in wanted:
                    seen.add(key)
                    self._judge_live(kind, key, live)
                else:
                    self._remember(live)
        except KindUnavailable as error:
            self.incomplete.append(error.incomplete)
            return
        for key in wanted.keys() - seen:
            self.judge(kind, key, None)

    def _judge_live(self, kind: Kind, key: Key, live: Object) -> None:
        self.judge(kind, key, live)
        if entries_of(live):
            self._compared.add((kind.group, kind.name, key))
        else:
            self._unmanaged += 1
        owner = owner_of(live, self.detector.policy.engines)
        if owner is not None:
            self._owners.add(owner)

    def _look_for_orphans(self) -> None:
        if not self._owners and not self.apps:
            return
        if self.manifests.incomplete:
            why = "what is declared could not all be read, so nothing can be called undeclared"
            self.incomplete.append(Incomplete("orphans", why, Hidden.ORPHANS))
            return
        known = frozenset((kind.group, kind.name) for kind in self.declared)
        unseen: dict[str, list[str]] = {}
        for kind in self.live.other_kinds(known):
            if not self.chosen(Ref(*kind, "", "")):
                continue
            try:
                for live in self.live.metadata(kind):
                    self._remember(live)
            except KindUnavailable as error:
                unseen.setdefault(error.incomplete.why, []).append(kind.name)
        for why, kinds in unseen.items():
            what = f"orphans among {', '.join(kinds)}"
            self.incomplete.append(Incomplete(what, why, Hidden.ORPHANS, tuple(kinds)))

    def _ask_reconcilers(self) -> None:
        """Tell whether those who apply what is declared do so at all."""
        found, unseen = self._reconcilers.about(frozenset(self._owners), self.apps)
        self._behind = found
        self.incomplete += unseen

    def _remember(self, live: Object) -> None:
        """Keep *live*, which is not declared, if somebody's application claims or claimed it."""
        ref = ref_of(live)
        place = ref.group, ref.kind, ref.namespace, ref.name
        marked = owner_of(live, self.detector.policy.engines)
        owner = marked or self._reconcilers.inventory.get(place)
        if owner is not None:
            # Who holds which field is most of the metadata, and of no use for an orphan.
            metadata = {k: v for k, v in live["metadata"].items() if k != "managedFields"}
            head = {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata}
            self._strays.append((owner, head))

    def _orphans(self) -> Iterable[tuple[Owner, Object]]:
        if self.manifests.incomplete:
            return
        declared = {(k.group, k.name, key) for k, keys in self.declared.items() for key in keys}
        for owner, live in self._strays:
            ref = ref_of(live)
            place = ref.group, ref.kind, (ref.namespace, ref.name)
            is_ours = owner in self._owners or owner.app in self.apps
            if is_ours and place not in declared:
                declared.add(place)  # a kind that is declared in two versions is listed twice
                yield owner, live

    def _autoscaled(self) -> frozenset[Scaled]:
        """Return what autoscalers scale, asked for only where somebody's replicas differ."""
        findings = [each for found in self.found.values() for each in found]
        scaled, unseen = autoscaled_in(self.live, [*findings, *self._told])
        self.incomplete += unseen
        return scaled
