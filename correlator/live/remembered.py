"""Live objects that stay the same for one pass: what was read once is not read again.

An object that was looked up by its name is the same object when its kind is listed later, so that
two parts of one report cannot contradict each other. Only objects that were looked up are kept in
memory, never whole lists.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from correlator.live.source import Kind, KindUnavailable, Live
from glasswarden.kube.compare import Value
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import Path

_Answer: TypeAlias = Object | KindUnavailable | None


@dataclass(slots=True)
class RememberedLive:
    """Knows what *live* knows, and remembers the objects that were looked up. For one pass."""

    live: Live
    _answers: dict[Ref, _Answer] = field(default_factory=dict)

    def one(self, ref: Ref) -> Object | None:
        """Return the object *ref*, none where there is none. Raises `KindUnavailable`."""
        ref = replace(ref, uid="")
        if ref not in self._answers:
            self._answers[ref] = self._read(ref)
        answer = self._answers[ref]
        if isinstance(answer, KindUnavailable):
            raise answer
        return answer

    def _read(self, ref: Ref) -> _Answer:
        try:
            return self.live.one(ref)
        except KindUnavailable as error:
            return error

    def objects(self, kind: Kind, namespaces: frozenset[str]) -> Iterator[Object]:
        """Yield the objects of *kind*, those that were looked up as they were then."""
        for each in self.live.objects(kind, namespaces):
            known = self._answers.get(replace(ref_of(each), uid="")) if self._answers else None
            yield known if isinstance(known, dict) else each

    def locate(self, ref: Ref) -> Ref:
        """Return *ref* with the namespace it is found in. Raises `KindUnavailable`."""
        return self.live.locate(ref)

    def anywhere(self, kind: Kind, name: str = "") -> Iterator[Object]:
        """Yield the objects of *kind* in all namespaces, or those that are called *name*."""
        return self.live.anywhere(kind, name)

    def events(self, component: str) -> Iterator[Object]:
        """Yield the Events that *component* wrote."""
        return self.live.events(component)

    def other_kinds(self, kinds: frozenset[tuple[str, str]]) -> list[Kind]:
        """Return the kinds, beside these groups and names, that may hold what Git once declared."""
        return self.live.other_kinds(kinds)

    def default_at(self, kind: Kind, path: Path) -> Value:
        """Return what the API server fills in at *path* of a custom resource."""
        return self.live.default_at(kind, path)

    def metadata(self, kind: Kind) -> Iterator[Object]:
        """Yield the objects of *kind*, of which only the metadata matters."""
        return self.live.metadata(kind)
