"""The protocol of a source of live objects."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from correlator.finding import Hidden, Incomplete
from glasswarden.kube.compare import Value
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import Path


class Kind(NamedTuple):
    """A kind of objects, in the version in which it is declared."""

    group: str
    version: str
    name: str

    def __str__(self) -> str:
        version = f"{self.group}/{self.version}" if self.group else self.version
        return f"{self.name} ({version})"


class KindUnavailable(Exception):
    """Objects of a kind cannot be read; the message has the reason."""

    def __init__(self, what: Kind | str, why: str) -> None:
        super().__init__(f"{what}: {why}")
        kinds = (what.name,) if isinstance(what, Kind) else ()
        self.incomplete = Incomplete(str(what), why, kinds=kinds)


class NamespacesUnavailable(KindUnavailable):
    """Not all namespaces can be read: all objects of the others were yielded."""

    def __init__(self, kind: Kind, namespaces: frozenset[str], why: str) -> None:
        """Tell that *namespaces* were not seen of those that matter, and others neither."""
        super().__init__(kind, why)
        self.namespaces = namespaces
        what = f"{kind} in {', '.join(sorted(namespaces))}" if namespaces else f"orphans of {kind}"
        hides = Hidden.ANY if namespaces else Hidden.ORPHANS
        self.incomplete = Incomplete(what, why, hides, (kind.name,))


class KindUnknown(KindUnavailable):
    """There is no such kind here, or no longer."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look."""

    namespace: str = ""
    """The only namespace that counts; empty for all of them."""
    home: str = "default"
    """The namespace of objects that name none."""


class Live(Protocol):
    """Knows the live objects."""

    def locate(self, ref: Ref) -> Ref:
        """Return *ref* with the namespace it is found in. Raises `KindUnavailable`."""
        ...

    def objects(self, kind: Kind, namespaces: frozenset[str]) -> Iterator[Object]:
        """Yield the objects of *kind*; *namespaces* are those that matter.

        Raises `KindUnavailable`, possibly after some objects: what was not seen is then not known.
        """
        ...

    def anywhere(self, kind: Kind, name: str = "") -> Iterator[Object]:
        """Yield the objects of *kind* in all namespaces, or those that are called *name*.

        Raises `KindUnavailable`.
        """
        ...

    def events(self, component: str) -> Iterator[Object]:
        """Yield the Events that *component* wrote. Raises `KindUnavailable`."""
        ...

    def one(self, ref: Ref) -> Object | None:
        """Return the object *ref*, none where there is none. Raises `KindUnavailable`."""
        ...

    def other_kinds(self, kinds: frozenset[tuple[str, str]]) -> list[Kind]:
        """Return the kinds, beside these groups and names, that may hold what Git once declared."""
        ...

    def default_at(self, kind: Kind, path: Path) -> Value:
        """Return what the API server fills in at *path* of a custom resource; mostly `ABSENT`."""
        ...

    def metadata(self, kind: Kind) -> Iterator[Object]:
        """Yield the objects of *kind*, of which only the metadata matters."""
        ...
