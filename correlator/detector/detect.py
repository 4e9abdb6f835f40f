"""The comparison of one object: what Git declares against what is live.

A manifest is first brought to the form that the API server stores. Labels and annotations that
engines add to the objects they apply are left out, since Git never declares them.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from correlator.declared.manifests import Declared, last_applied_of
from correlator.detector.additions import ComparedObject, find_additions, find_injected
from correlator.detector.defaults import is_default
from correlator.detector.leaves import (
    Difference,
    declares_nothing,
    find_differences,
    forgets_emptiness,
)
from correlator.detector.managers import Managers, Party, managers_for
from correlator.finding import Finding, latest_of, parse_time
from glasswarden.kube.compare import ABSENT, Value, value_after, value_at
from glasswarden.kube.diff import remove_noise
from glasswarden.kube.engines.registry import ENGINES, owner_of
from glasswarden.kube.managed_fields import (
    Entry,
    FieldsV1,
    child_of,
    entries_of,
    owners_at,
    remove_fields,
)
from glasswarden.kube.objects import Object, Ref, generation_of, metadata_of, ref_of
from glasswarden.kube.paths import ROOT, Index, Key, Member, Path, Select, path_of
from glasswarden.kube.schema import identity_of, shape_of, target_of
from glasswarden.policy.breakglass.annotations import without_notes
from glasswarden.policy.policy import Policy

_BYTES: Final = {"Secret": ("data",), "ConfigMap": ("binaryData",)}


def normalize_manifest(manifest: Object, ref: Ref) -> Object:
    """Return *manifest* without what only the API server writes, a Secret's text encoded.

    Nothing is taken away that could be drift; what cannot be understood stays as it is.
    """
    meant = _strip_namespace(remove_noise(manifest))
    if ref.group or ref.kind not in _BYTES:
        return meant
    if ref.kind == "Secret" and isinstance(meant.get("stringData"), dict):
        meant = _encode_string_data(meant)
    for field in _BYTES[ref.kind]:
        if isinstance(meant.get(field), dict):
            meant = {**meant, field: {k: normalize_base64(v) for k, v in meant[field].items()}}
    return meant


def _strip_namespace(manifest: Object) -> Object:
    """Return *manifest* without its namespace: by where it is live, not by what it says."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or "namespace" not in metadata:
        return manifest
    kept = {key: value for key, value in metadata.items() if key != "namespace"}
    return {**manifest, "metadata": kept}


def normalize_base64(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return *value* as the API server writes it, where it is base64: without line breaks."""
    if not isinstance(value, str):
        return value
    try:
        return base64.b64encode(base64.b64decode("".join(value.split()), validate=True)).decode()
    except (binascii.Error, ValueError):
        return value


def _encode_string_data(secret: Object) -> Object:
    data = secret.get("data")
    written = {
        key: base64.b64encode(value.encode(errors="surrogatepass")).decode()
        for key, value in secret["stringData"].items()
        if isinstance(value, str)
    }
    kept = {key: value for key, value in secret.items() if key != "stringData"}
    return {**kept, "data": {**(data if isinstance(data, dict) else {}), **written}}


def number_items(path: Path, live: Object) -> Path | None:
    """Return *path* with the number of each item that it selects in *live*.

    Nothing where it selects none, or one that is not there.
    """
    if not any(isinstance(step, Select | Member) for step in path.steps):
        return None
    found, value = ROOT, live
    for step in path.steps:
        if isinstance(step, Select | Member):
            number = _number(value, step)
            if number is None:
                return None
            step = Index(number)  # noqa: PLW2901 - the same step, by another name
        found, value = found / step, value_after(value, (step,))
        if value is ABSENT:
            value = {}  # what is gone has a place all the same
    return found


def _number(items: Any, step: Select | Member) -> int | None:  # noqa: ANN401 - any JSON value
    keys, identity = target_of(step)
    listed = enumerate(items if isinstance(items, list) else ())
    return next((index for index, item in listed if identity_of(item, keys) == identity), None)


_MARKED: Final = frozenset({"labels", "annotations"})

_DOMAINS: Final = frozenset(domain for engine in ENGINES for domain in engine.drift.domains)
_KEYS: Final = frozenset(key for engine in ENGINES for key in engine.drift.keys)


def is_engines_own(path: Path, marks: frozenset[tuple[str, str]]) -> bool:
    """Return whether *path* leads to what an engine writes about itself; *marks* are more of it."""
    match path.steps:
        case (Key(name="metadata"), Key(name=place), Key(name=key)) if place in _MARKED:
            is_marked = (place.removesuffix("s"), key) in marks
            return is_marked or key in _KEYS or key.partition("/")[0] in _DOMAINS
        case _:
            return False


SOURCE: Final = "git"


@dataclass(frozen=True, slots=True)
class Detector:
    """Compares objects by the rules of one policy, against one revision."""

    policy: Policy
    revision: str

    def new_missing(self, declared: Declared, ref: Ref) -> Finding:
        """Return the finding that the cluster lacks *declared*, which would be *ref* there."""
        owner = owner_of(declared.manifest, self.policy.engines)
        meant = normalize_manifest(declared.manifest, ref)
        return Finding(
            ref, ROOT, meant, ABSENT, None, SOURCE, self.revision, owner, origin=declared.origin
        )

    def compare(self, declared: Declared, live: Object) -> list[Finding]:
        """Return where *live* is not as *declared* says."""
        ref = ref_of(live)
        owner = owner_of(live, self.policy.engines)
        subject = _ComparedObject(
            ref,
            normalize_manifest(declared.manifest, ref),
            remove_noise(without_notes(live)),
            entries_of(live),
            managers_for(owner, self.policy),
            last_applied_of(live),
            self.policy.mark_keys,
        )
        entries = tuple(map(remove_fields, subject.entries))
        found = [
            Finding(
                ref, path, was, now, since, SOURCE, self.revision, owner,
                tuple(map(remove_fields, holders)), entries, declared.origin,
                generation=generation_of(live),
            )
            for path, was, now, holders, since in subject.find_differences(metadata_of(live))
        ]  # fmt: skip
        return [
            replace(
                each,
                was_applied=subject.was_applied(each.field),
                numbered=number_items(each.field, live),
            )
            for each in found
        ]


_Found = tuple[Path, Value, Value, tuple[Entry, ...], datetime | None]
"""A field, its declared and live values, the entries that hold it, and since when."""


@dataclass(frozen=True, slots=True)
class _ComparedObject:
    """One object, both ways."""

    ref: Ref
    declared: Object
    live: Object
    entries: tuple[Entry, ...]
    managers: Managers
    applied: Object | None
    """What was applied last, where the object tells."""
    marks: frozenset[tuple[str, str]]
    """Labels and annotations that ownership is read from."""

    def was_applied(self, path: Path) -> bool | None:
        """Return whether what was applied last holds *path*, where the object tells."""
        return None if self.applied is None else _has_value(self.applied, path)

    def find_differences(self, metadata: Object) -> Iterator[_Found]:
        """Yield the differences: declared fields first, then additions."""
        if deleted := metadata.get("deletionTimestamp"):
            path = path_of("metadata", "deletionTimestamp")
            yield path, ABSENT, deleted, (), parse_time(str(deleted))
        shape = shape_of(self.ref)
        hints = tuple(entry.fields for entry in self.entries)
        for each in find_differences(self.declared, self.live, shape, hints):
            holders = owners_at(self.entries, each.path) if each.live is not ABSENT else ()
            if not self._is_defaulted(each):
                yield each.path, each.declared, each.live, holders, latest_of(holders)
        yield from self._find_added()

    def _find_added(self) -> Iterator[_Found]:
        shape = shape_of(self.ref)
        seen: set[Path] = set()
        for entry in self.entries:
            if self.managers.party_of(entry) is not Party.OTHER:
                continue
            for each in find_additions(self._whole(), entry.fields):
                if each.path not in seen and not self._is_owners(each.path):
                    seen.add(each.path)
                    others = self._others_of(owners_at(self.entries, each.path))
                    yield each.path, ABSENT, each.live, others, latest_of(others)
        yield from self._find_left_over(seen)
        yield from self._find_deployed(seen)
        if self.entries and shape.typed:
            holds = tuple(entry.fields for entry in self.entries)
            for each in find_injected(self.declared, self.live, holds):
                yield each.path, ABSENT, each.live, (), None

    def _find_left_over(self, seen: set[Path]) -> Iterator[_Found]:
        """Yield what the owner applied once and Git no longer declares."""
        for entry in self.entries:
            is_applied = entry.operation == "Apply" and not entry.subresource
            if not is_applied or self.managers.party_of(entry) is not Party.OWNER:
                continue
            for each in find_additions(self._whole(), entry.fields, inside=False):
                if each.path not in seen and not is_engines_own(each.path, self.marks):
                    seen.add(each.path)
                    yield each.path, ABSENT, each.live, (entry,), parse_time(entry.time)

    def _find_deployed(self, seen: set[Path]) -> Iterator[_Found]:
        """Yield what was in a manifest that somebody applied to an object without an owner.

        Whoever creates an object client-side holds what was filled in for it, too: what was applied
        last tells the two apart.
        """
        if self.managers.appliers is not None or self.applied is None:
            return
        for entry in self.entries:
            if self.managers.party_of(entry) is not Party.OWNER or entry.operation == "Apply":
                continue
            for each in find_additions(self._whole(), entry.fields, inside=False):
                if each.path not in seen and _has_value(self.applied, each.path):
                    seen.add(each.path)
                    yield each.path, ABSENT, each.live, (entry,), parse_time(entry.time)

    def _whole(self) -> ComparedObject:
        return ComparedObject(self.ref.kind, self.declared, self.live, shape_of(self.ref))

    def _is_owners(self, path: Path) -> bool:
        """Return whether the owner holds the very field too, as it does its own marks."""
        return any(
            self.managers.party_of(entry) is Party.OWNER and _names_field(entry.fields, path)
            for entry in self.entries
        )

    def _others_of(self, holders: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(each for each in holders if self.managers.party_of(each) is Party.OTHER)

    def _is_defaulted(self, found: Difference) -> bool:
        """Return whether the API server filled in what is declared as empty."""
        step = found.path.step
        return (
            isinstance(step, Key)
            and found.live is not ABSENT
            and declares_nothing(found.declared)
            and forgets_emptiness(step.name, found.path.parent or ROOT, shape_of(self.ref))
            and is_default(found.path, found.live, self.ref.kind)
        )


def _has_value(applied: Object, path: Path) -> bool:
    return value_at(applied, path) is not ABSENT


def _names_field(fields: FieldsV1, path: Path) -> bool:
    # Not as a part of something that is held as a whole: a map that was applied empty is held so,
    # and holds nothing.
    node: FieldsV1 | None = fields
    for step in path.steps:
        node = child_of(node, step) if node else None
    return node is not None
