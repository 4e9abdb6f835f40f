"""The values of a backport: the wanted field, a candidate for its place, and the files. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from correlator.backport.edit import Steps
from correlator.backport.errors import CannotPlace
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import ROOT, Path


@dataclass(frozen=True, slots=True)
class Wanted:
    """One field."""

    ref: Ref
    path: Path
    """The root where the whole object was deleted."""
    value: Value
    """As it is live; `ABSENT` where it was removed."""
    live: Object | None = None
    """The object as it is live."""
    records: tuple[str, ...] = ()
    actor: str = ""
    ticket: str = ""

    @property
    def steps(self) -> Steps:
        """The way to the field."""
        return self.path.steps

    @property
    def is_deletion(self) -> bool:
        """Whether the whole object is to go."""
        return self.path == ROOT and self.value is ABSENT

    def __str__(self) -> str:
        return f"{self.ref}" if self.path == ROOT else f"{self.ref} {self.path}"


def find_declaring(ref: Ref, manifests: Sequence[Object], refs: Sequence[Ref]) -> Object | None:
    """Return which of *manifests*, whose names are *refs*, declares *ref*.

    A manifest may leave its namespace to whoever applies it; one that names it counts first.
    """
    for namespace in (ref.namespace, ""):
        wanted = (ref.group, ref.kind, namespace, ref.name)
        for manifest, each in zip(manifests, refs, strict=True):
            if (each.group, each.kind, each.namespace, each.name) == wanted:
                return manifest
    return None


KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
CHART: Final = "Chart.yaml"


@dataclass(frozen=True, slots=True)
class Tree:
    """Files by their paths from the repository's root."""

    source: Mapping[str, str]
    """The files as they are."""
    edits: Mapping[str, str | None] = field(default_factory=dict)
    """Those that would be different; none where one would go."""

    def read(self, path: str) -> str | None:
        """Return the text of *path*, none where there is no such file of text."""
        return self.edits[path] if path in self.edits else self.source.get(path)

    def read_text(self, path: str) -> str:
        """Return the text of *path*, or raise `CannotPlace`."""
        found = self.read(path)
        if found is None:
            raise CannotPlace(f"{path} cannot be read")
        return found

    def with_text(self, path: str, text: str | None) -> "Tree":
        """Return the tree with *text* in *path*."""
        return replace(self, edits={**self.edits, path: text})

    def files_below(self, folder: str) -> Iterator[str]:
        """Yield the files in *folder* and below, in order."""
        for path in sorted({*self.source, *self.edits}):
            if (not folder or path.startswith(f"{folder}/")) and self.edits.get(
                path, ""
            ) is not None:
                yield path

    def has(self, path: str) -> bool:
        """Return whether there is a file *path*."""
        return path in self.edits or path in self.source

    @property
    def changed(self) -> dict[str, tuple[str | None, str | None]]:
        """Each file that would be different: its text before and after."""
        pairs = {path: (self.source.get(path), new) for path, new in sorted(self.edits.items())}
        return {path: (old, new) for path, (old, new) in pairs.items() if old != new}

    def find_kustomization(self, folder: str) -> str | None:
        """Return the file that makes *folder* one for Kustomize."""
        names = (join_paths(folder, name) for name in KUSTOMIZATIONS)
        return next((path for path in names if self.has(path)), None)

    def is_chart(self, folder: str) -> bool:
        """Return whether *folder* is a Helm chart."""
        return self.has(join_paths(folder, CHART))


def join_paths(folder: str, path: str) -> str:
    """Return *path*, which is relative to *folder*, from the root; nothing leads out of that."""
    parts: list[str] = []
    for part in (PurePosixPath(folder) / path).parts:
        if part == ".." and parts:
            parts.pop()
        elif part == "..":
            raise CannotPlace(f"{path} leads out of the repository")
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def folder_of(path: str) -> str:
    """Return the folder that *path* is in."""
    return path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Candidate:
    """The files with the field declared there."""

    tree: Tree
    where: str
    """The file and, inside of it, the part: for people."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A place that is the right one, and why it cannot be used."""

    where: str
    why: str


Candidates: TypeAlias = Iterator[Candidate | Rejected]
"""Best first."""
