"""Patterns of names, kinds and places, compiled for quick checks.

Also which labels and annotations a change touches. A label or an annotation is also touched where a
whole map of them is added or removed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from glasswarden.kube.diff import Change
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Key
from glasswarden.kube.patterns import Glob
from glasswarden.policy.document import Where


@dataclass(frozen=True, slots=True)
class Names:
    """A set of names, some with stars."""

    exact: frozenset[str]
    globs: tuple[Glob, ...]

    def __bool__(self) -> bool:
        return bool(self.exact or self.globs)

    def __contains__(self, name: str) -> bool:
        # Each write is held against dozens of these, and few have stars.
        return name in self.exact or (
            bool(self.globs) and any(glob.matches(name) for glob in self.globs)
        )


def names_of(patterns: Iterable[str]) -> Names:
    """Return *patterns* as a set that names can be looked up in."""
    listed = tuple(patterns)
    return Names(
        frozenset(each for each in listed if "*" not in each),
        tuple(Glob(tuple(each.split("*"))) for each in listed if "*" in each),
    )


@dataclass(frozen=True, slots=True)
class Kinds:
    """A set of kinds, written as `Kind` or `group/Kind`."""

    bare: Names
    grouped: Names

    def fits(self, ref: Ref) -> bool:
        """Return whether *ref*'s kind is among them."""
        return ref.kind in self.bare or f"{ref.group}/{ref.kind}" in self.grouped


def kinds_of(patterns: Iterable[str]) -> Kinds:
    """Return *patterns* as a set that kinds can be looked up in."""
    listed = tuple(patterns)
    return Kinds(
        names_of(each for each in listed if "/" not in each),
        names_of(each for each in listed if "/" in each),
    )


@dataclass(frozen=True, slots=True)
class ObjectSelector:
    """Which objects a rule is about. An empty part asks for nothing."""

    where: Where
    namespaces: Names
    engines: Names
    applications: Names
    kinds: Kinds
    names: Names
    labels: tuple[tuple[str, Names], ...]

    def fits(self, ref: Ref, owner: Owner | None, labels: Mapping[str, object]) -> bool:
        """Return whether the rule is about this object."""
        where = self.where
        return (
            (not where.namespaces or ref.namespace in self.namespaces)
            and (not where.kinds or self.kinds.fits(ref))
            and (not where.names or ref.name in self.names)
            and (not where.engines or (owner is not None and owner.engine in self.engines))
            and (not where.applications or (owner is not None and self._owns(owner)))
            and all(key in labels and str(labels[key]) in values for key, values in self.labels)
        )

    def _owns(self, owner: Owner) -> bool:
        return owner.app in self.applications or (
            f"{owner.namespace}/{owner.app}" in self.applications
        )


def selector_of(where: Where) -> ObjectSelector:
    """Return *where*, ready to be asked."""
    return ObjectSelector(
        where,
        namespaces=names_of(where.namespaces),
        engines=names_of(where.engines),
        applications=names_of(where.applications),
        kinds=kinds_of(where.kinds),
        names=names_of(where.names),
        labels=tuple((key, names_of([value])) for key, value in where.labels.items()),
    )


Kind: TypeAlias = Literal["annotation", "label"]

_METADATA: Final = Key("metadata")
_FIELDS: Final[dict[str, Kind]] = {"annotations": "annotation", "labels": "label"}


def touched_metadata(change: Change) -> Iterator[tuple[Kind, str]]:
    """Yield each label and annotation that is not the same after *change*."""
    if change.path.head != _METADATA:
        return
    match change.path.steps:
        case (Key("metadata"), Key(field), Key(name), *_) if field in _FIELDS:
            yield _FIELDS[field], name
        case (Key("metadata"), Key(field)) if field in _FIELDS:
            yield from ((_FIELDS[field], name) for name in _differing(change.old, change.new))
        case (Key("metadata"),):
            for field, kind in _FIELDS.items():
                old, new = _below(change.old, field), _below(change.new, field)
                yield from ((kind, name) for name in _differing(old, new))


def _below(value: object, field: str) -> object:
    return value.get(field) if isinstance(value, dict) else None


def _differing(old: object, new: object) -> list[str]:
    before = old if isinstance(old, dict) else {}
    after = new if isinstance(new, dict) else {}
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
