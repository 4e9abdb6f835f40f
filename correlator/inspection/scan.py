"""One pass: everything that is declared against everything that is live.

Level-triggered: a pass works from what is there now, and a missed event costs nothing. What cannot
be looked at is said in the result; it never reads as "no drift".
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from correlator.classify.rule import Scene
from correlator.declared.manifests import Declared, Manifests, is_hook, leaves_alone
from correlator.detector.detect import Detector, normalize_manifest
from correlator.detector.orphans import new_orphan
from correlator.detector.rollouts import is_rolling_out
from correlator.finding import Finding, Hidden, Incomplete, Result, sort_key_of
from correlator.inspection.conclude import conclude
from correlator.inspection.confirm import Confirmation
from correlator.linker import Linking, leave_unlinked
from correlator.live.autoscalers import Scaled, autoscaled_in
from correlator.live.source import Kind, KindUnavailable, Live, NamespacesUnavailable
from correlator.sources.grace_period import lasting
from correlator.sources.reconcilers import Reconcilers, read_reconcilers
from glasswarden.kube.compare import ABSENT, value_at
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import owner_of
from glasswarden.kube.equality import is_identical
from glasswarden.kube.managed_fields import entries_of
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import ROOT, are_nested
from glasswarden.kube.schema import shape_of

Key: TypeAlias = tuple[str, str]
"""Namespace and name."""

PROGRESS_EVERY: Final = 500
"""Objects after which progress is reported within a kind."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a pass has come."""

    kinds: int
    of: int
    objects: int


def _ignore(_: Progress) -> None:
    """Report nothing."""


@dataclass(slots=True)
class Scan:
    """A pass, and what it has found so far."""

    detector: Detector
    manifests: Manifests
    live: Live
    report: Callable[[Progress], None] = _ignore
    includes: Callable[[Ref], bool] = lambda _: True
    """Which of the declared objects count."""

    apps: frozenset[str] = frozenset()
    """Applications whose objects count as orphans even if none of what they declare is live."""

    found: dict[tuple[str, str, Key], list[Finding]] = field(default_factory=dict)
    """The findings of each declared object, by group, kind, namespace and name."""
    incomplete: list[Incomplete] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    declared: dict[Kind, dict[Key, Declared]] = field(default_factory=dict)
    _rolling: dict[tuple[Kind, Key], Ref] = field(default_factory=dict)
    _compared: set[tuple[str, str, Key]] = field(default_factory=set)
    _owners: set[Owner] = field(default_factory=set)
    _strays: list[tuple[Owner, Object]] = field(default_factory=list)
    _behind: list[Finding] = field(default_factory=list)
    _reconcilers: Reconcilers = field(default_factory=Reconcilers)
    _unmanaged: int = 0
    _objects: int = 0

    def run(self) -> None:
        """Inspect everything once."""
        self.incomplete = list(self.manifests.incomplete)
        self._index()
        self._reconcilers = read_reconcilers(self.live)
        for done, (kind, wanted) in enumerate(self.declared.items()):
            self._report(done)
            self._look_at(kind, wanted, done)
        self._look_for_orphans()
        self._ask_reconcilers()
        self._report(len(self.declared))
        if self._unmanaged:
            what = f"additions in {self._unmanaged} objects"
            why = "they carry no managedFields, which tell who holds a field"
            self.incomplete.append(Incomplete(what, why, Hidden.ADDITIONS))

    def result(self, scene: Scene, linker: Linking = leave_unlinked) -> Result:
        """Return what was found, linked, classified and in order, with secrets hidden."""
        findings = [each for found in self.found.values() for each in found]
        findings += lasting(self._behind, scene.now)
        orphans = [
            new_orphan(live, owner, self.manifests.revision)
            for owner, live in self._orphans()
            if self.includes(ref_of(live))
        ]
        found = sorted((*findings, *orphans), key=sort_key_of)
        return Result(
            conclude(found, scene, linker, self.live),
            tuple(dict.fromkeys(self.incomplete)),
            remarks=tuple(self.remarks),
        )

    def has_compared(self, ref: Ref) -> bool:
        """Return whether the object was compared with Git, with all that was added to it."""
        return (ref.group, ref.kind, (ref.namespace, ref.name)) in self._compared

    def drop_known(self, reported: Iterable[Finding]) -> list[Finding]:
        """Return what another source *reported*, except where comparing with Git found it."""
        known = {(each.ref, each.field) for each in self._behind}
        orphans = {ref_of(live) for _, live in self._orphans()}
        news = (
            self._beyond_git(each)
            for each in reported
            if each.ref not in orphans and (each.ref, each.field) not in known
        )
        return [each for each in news if each is not None]

    def _beyond_git(self, finding: Finding) -> Finding | None:
        """Return *finding* with what Git declares; none where comparing with Git covers it."""
        ref = finding.ref
        key = ref.namespace, ref.name
        known = self.found.get((ref.group, ref.kind, key))
        if known is None:
            # What its application no longer declares is rightly deleted.
            is_ours = finding.owner in self._owners and not self.manifests.incomplete
            return None if finding.is_missing_object and is_ours else finding
        if finding.field == ROOT or any(are_nested(each.field, finding.field) for each in known):
            return None
        declared = self._declared_at(ref.group, ref.kind, key)
        if value_at(normalize_manifest(declared.manifest, ref), finding.field) is not ABSENT:
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
                kept, unasked = confirmation.confirm_findings(declared, self.found.get(place, []))
                self.found[place] = kept
                self.incomplete += unasked

    def scene(self, scene: Scene) -> Scene:
        """Return *scene* with what this pass has seen."""
        return replace(
            scene,
            rolling=frozenset(self._rolling.values()),
            autoscaled=self._find_autoscaled(),
            following=self._reconcilers.following(self.owners, self.apps, scene.now),
            ignores=(*(each.why for each in self._reconcilers.ignores), self._left_alone),
        )

    def judge(self, kind: Kind, key: Key, live: Object | None) -> None:
        """Compare one declared object with *live*, nothing where the cluster lacks it."""
        declared = self.declared[kind][key]
        self._rolling.pop((kind, key), None)
        owner = owner_of(live or declared.manifest, self.detector.policy.engines)
        if is_hook(declared.manifest, owner):
            findings = []
        elif live is None:
            group, version, name = kind
            findings = [self.detector.new_missing(declared, Ref(group, version, name, *key))]
        else:
            findings = [
                each
                for each in self.detector.compare(declared, live)
                if not self._is_schema_default(kind, each)
                and not self._reconcilers.puts(owner, each)
            ]
            if findings and is_rolling_out(live):
                self._rolling[kind, key] = findings[0].ref
        self.found[kind.group, kind.name, key] = findings

    def _left_alone(self, finding: Finding) -> str:
        """Return why the owner's engine does not update the object, empty where it does."""
        ref = finding.ref
        places = self.declared.get(Kind(ref.group, ref.version, ref.kind), {})
        declared = places.get((ref.namespace, ref.name))
        return leaves_alone(declared.manifest, finding.owner) if declared else ""

    def _is_schema_default(self, kind: Kind, finding: Finding) -> bool:
        """Return whether an addition to a custom resource is only a default of its schema."""
        if finding.declared is not ABSENT or shape_of(finding.ref).typed:
            return False
        default = self.live.default_at(kind, finding.field)
        return default is not ABSENT and is_identical(default, finding.live)

    def _index(self) -> None:
        """Sort what is declared by kind and place."""
        for each in self.manifests.objects:
            try:
                ref = self.live.locate(ref_of(each.manifest))
            except KindUnavailable as error:
                self.incomplete.append(error.incomplete)
                continue
            if not self.includes(ref):
                continue
            places = self.declared.setdefault(Kind(ref.group, ref.version, ref.kind), {})
            if known := places.get((ref.namespace, ref.name)):
                where = f"in {known.origin} and {each.origin}"
                self.remarks.append(f"{ref} is declared twice, {where}; the latter counts")
            places[ref.namespace, ref.name] = each

    def _report(self, done: int) -> None:
        self.report(Progress(done, len(self.declared), self._objects))

    def _look_at(self, kind: Kind, wanted: dict[Key, Declared], done: int) -> None:
        namespaces = frozenset(namespace for namespace, _ in wanted)
        seen: set[Key] = set()
        unseen: frozenset[str] = frozenset()
        try:
            for live in self.live.objects(kind, namespaces):
                self._objects += 1
                if self._objects % PROGRESS_EVERY == 0:
                    self._report(done)
                ref = ref_of(live)
                key = ref.namespace, ref.name
                if key in wanted:
                    seen.add(key)
                    self._judge_live(kind, key, live)
                else:
                    self._remember(live)
        except NamespacesUnavailable as error:
            self.incomplete.append(error.incomplete)
            unseen = error.namespaces
        except KindUnavailable as error:
            self.incomplete.append(error.incomplete)
            return
        for key in wanted.keys() - seen:
            if key[0] not in unseen:
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
            self._report_unowned()
            return
        if self.manifests.incomplete:
            why = "what is declared could not all be read, so nothing can be called undeclared"
            self.incomplete.append(Incomplete("orphans", why, Hidden.ORPHANS))
            return
        known = frozenset((kind.group, kind.name) for kind in self.declared)
        unseen: dict[str, list[str]] = {}
        for kind in self.live.other_kinds(known):
            if not self.includes(Ref(*kind, "", "")):
                continue
            try:
                for live in self.live.metadata(kind):
                    self._remember(live)
            except KindUnavailable as error:
                unseen.setdefault(error.incomplete.why, []).append(kind.name)
        for why, kinds in unseen.items():
            what = f"orphans among {', '.join(kinds)}"
            self.incomplete.append(Incomplete(what, why, Hidden.ORPHANS, tuple(kinds)))

    def _report_unowned(self) -> None:
        """Report that nothing declared is live while other objects are: renamed ones, perhaps."""
        missing = {key[0] for (_, _, key), found in self.found.items() if found}
        if any(ref_of(live).namespace in missing for _, live in self._strays):
            why = "nothing that is declared is live, so it is not known whose they are: say --app"
            self.incomplete.append(Incomplete("orphans", why, Hidden.ORPHANS))

    def _ask_reconcilers(self) -> None:
        """Return whether those who apply what is declared do so at all."""
        owners = self.owners
        self._reconcilers.ask_sources(self.live, owners, self.apps)
        found, unseen = self._reconcilers.about(owners, self.apps)
        self._behind = found
        self.incomplete += unseen

    @property
    def owners(self) -> frozenset[Owner]:
        """The owners whose reconcilers have a status about what is declared.

        Where nothing of it is live there are no marks to go by: it may be anybody's who has not
        applied anything yet.
        """
        if self._owners or not any(self.found.values()):
            return frozenset(self._owners)
        return self._reconcilers.never_applied()

    def _remember(self, live: Object) -> None:
        """Keep *live*, which is not declared, if somebody's application claims or claimed it."""
        ref = ref_of(live)
        place = ref.group, ref.kind, ref.namespace, ref.name
        marked = owner_of(live, self.detector.policy.engines)
        owner = marked or self._reconcilers.inventory.get(place)
        if owner is not None and not is_hook(live, owner):
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

    def _find_autoscaled(self) -> Scaled:
        """Return what autoscalers scale, asked for only where somebody's replicas differ."""
        findings = [each for found in self.found.values() for each in found]
        scaled, unseen = autoscaled_in(self.live, findings)
        self.incomplete += unseen
        return scaled
