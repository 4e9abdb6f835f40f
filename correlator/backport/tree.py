"""The files of a repository, as they are and as they would be. Pure: reading is somebody else's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from correlator.backport.errors import CannotPlace

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

    def text(self, path: str) -> str:
        """Return the text of *path*, or raise `CannotPlace`."""
        found = self.read(path)
        if found is None:
            raise CannotPlace(f"{path} cannot be read")
        return found

    def edited(self, path: str, text: str | None) -> "Tree":
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
        """Tell whether there is a file *path*."""
        return path in self.edits or path in self.source

    @property
    def changed(self) -> dict[str, tuple[str | None, str | None]]:
        """Each file that would be different: its text before and after."""
        pairs = {path: (self.source.get(path), new) for path, new in sorted(self.edits.items())}
        return {path: (old, new) for path, (old, new) in pairs.items() if old != new}

    def kustomization(self, folder: str) -> str | None:
        """Return the file that makes *folder* one for Kustomize."""
        names = (joined(folder, name) for name in KUSTOMIZATIONS)
        return next((path for path in names if self.has(path)), None)

    def is_chart(self, folder: str) -> bool:
        """Tell whether *folder* is a Helm chart."""
        return self.has(joined(folder, CHART))


def joined(folder: str, path: str) -> str:
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
