"""Live objects from a folder with the output of `kubectl get -o yaml`."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from correlator.declared.render import read_plain
from correlator.live.source import Kind, KindUnavailable, Scope
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import Path as FieldPath


class FolderLive:
    """Knows the objects in the files below a folder, and nothing about the rest."""

    def __init__(self, folder: Path, scope: Scope) -> None:
        """Read *folder*. Raises `DeclaredUnreadable`."""
        manifests = read_plain(folder)
        self.incomplete = manifests.incomplete
        self._scope = scope
        self._objects: dict[tuple[str, str], list[Object]] = defaultdict(list)
        for each in manifests.objects:
            ref = ref_of(each.manifest)
            self._objects[ref.group, ref.kind].append(each.manifest)
        self._namespaced = {
            kind: any(ref_of(each).namespace for each in objects)
            for kind, objects in self._objects.items()
        }

    def locate(self, ref: Ref) -> Ref:
        """Return *ref* with the namespace it is found in, by the objects of its kind."""
        is_namespaced = self._namespaced.get((ref.group, ref.kind))
        if is_namespaced is False:
            return replace(ref, namespace="")
        if ref.namespace or is_namespaced is None:
            return ref
        return replace(ref, namespace=self._scope.home)

    def objects(self, kind: Kind, namespaces: frozenset[str]) -> Iterator[Object]:  # noqa: ARG002
        """Yield the objects of *kind*; another version than the declared one cannot be compared."""
        for obj in self._objects.get((kind.group, kind.name), ()):
            if ref_of(obj).version == kind.version:
                yield obj
        others = {ref_of(obj).version for obj in self._objects.get((kind.group, kind.name), ())}
        if unlike := sorted(others - {kind.version}):
            raise KindUnavailable(kind, f"live only in version {', '.join(unlike)}")
        if self.incomplete:
            # What could not be read may be what is missing.
            where = ", ".join(each.what for each in self.incomplete)
            raise KindUnavailable(f"missing objects of {kind}", f"{where} cannot be read")

    def anywhere(self, kind: Kind, name: str = "") -> Iterator[Object]:
        """Yield the objects of *kind*, or those that are called *name*."""
        found = self.objects(kind, frozenset())
        return (each for each in found if name in ("", ref_of(each).name))

    def events(self, component: str) -> Iterator[Object]:
        """Yield the Events that *component* wrote."""
        for each in self._objects.get(("", "Event"), ()):
            source = each.get("source")
            if isinstance(source, dict) and source.get("component") == component:
                yield each

    def one(self, ref: Ref) -> Object | None:
        """Return the object *ref*; what the folder lacks may be live all the same."""
        for each in self._objects.get((ref.group, ref.kind), ()):
            found = ref_of(each)
            if (found.namespace, found.name) == (ref.namespace, ref.name):
                return each
        raise KindUnavailable(str(ref), "the folder does not hold it")

    def other_kinds(self, kinds: frozenset[tuple[str, str]]) -> list[Kind]:
        """Return the kinds that the folder holds beside these."""
        return [
            Kind(group, ref_of(objects[0]).version, name)
            for (group, name), objects in self._objects.items()
            if (group, name) not in kinds
        ]

    def default_at(self, kind: Kind, path: FieldPath) -> Value:  # noqa: ARG002
        """Return nothing: a folder has no schema."""
        return ABSENT

    def metadata(self, kind: Kind) -> Iterator[Object]:
        """Yield the objects of *kind*."""
        yield from self._objects.get((kind.group, kind.name), ())
