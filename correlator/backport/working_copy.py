"""A working copy of the files, in which candidates are rendered with the real programs.

The repository itself is only read.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from correlator.backport.errors import RepositoryUnusable
from correlator.backport.model import Tree
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import Address, find_program, open_address, output_of
from correlator.declared.read import render_path
from correlator.declared.render import Release
from correlator.finding import Incomplete
from glasswarden.kube.objects import Object

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a file; no manifest is larger."""


class Files(Mapping[str, str]):
    """The text files below a folder by their paths, read when they are asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names = {
            path.relative_to(root).as_posix()
            for path in root.rglob("*")
            if path.is_file() and not path.is_symlink() and ".git" not in path.parts
        }
        self._read: dict[str, str | None] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._read:
            self._read[name] = self._read_text(name) if name in self._names else None
        text = self._read[name]
        if text is None:
            raise KeyError(name)
        return text

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _read_text(self, name: str) -> str | None:
        file = self._root / name
        try:
            return file.read_bytes().decode() if file.stat().st_size <= LARGEST else None
        except (OSError, UnicodeDecodeError):
            return None


class WorkingCopy:
    """Renders trees of files in a copy of them."""

    incomplete: tuple[Incomplete, ...] = ()
    """What of the files could not be read when they were rendered last."""

    def __init__(self, root: Path, folder: str, release: Release) -> None:
        self._root = root
        self._folder = folder
        self._release = release
        self._touched: set[str] = set()
        self.files = Files(root)
        self.tree = Tree(self.files)

    def render(self, tree: Tree) -> list[Object]:
        """Return what *tree* declares. Raises `DeclaredUnreadable`."""
        self._write_files(tree)
        folder = self._root / self._folder
        if not folder.exists():
            raise DeclaredUnreadable(f"the repository has no {self._folder}")
        manifests = render_path(folder, self._release)
        self.incomplete = manifests.incomplete
        return [each.manifest for each in manifests.objects]

    def _write_files(self, tree: Tree) -> None:
        for path in self._touched | set(tree.edits):
            text = tree.edits.get(path, self.files.get(path))
            file = self._root / path
            if text is None:
                file.unlink(missing_ok=True)
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(text.encode())
        self._touched = set(tree.edits)


@contextmanager
def open_copy(place: Path, revision: str) -> Iterator[Path]:
    """Give a copy of the repository at *place* for the time of the block.

    At *revision*; or as it lies there, with what is not committed but not ignored either.
    """
    try:
        if revision:
            with open_address(Address(str(place), revision)) as checkout:
                yield checkout.folder
            return
        with tempfile.TemporaryDirectory(prefix="glasswarden-backport-") as temporary:
            root = Path(temporary, "files")
            _copy(place, root)
            yield root
    except OSError as error:
        raise RepositoryUnusable(f"{place} cannot be copied: {error}") from error


def _copy(place: Path, root: Path) -> None:
    if not (place / ".git").exists():
        shutil.copytree(place, root, symlinks=True)
        return
    git = find_program("git", "it lists a repository's files")
    listed = output_of([git, "-C", place, "ls-files", "-z", "-co", "--exclude-standard"])
    root.mkdir()
    for name in filter(None, listed.split("\0")):
        if (place / name).is_file() or (place / name).is_symlink():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(place / name, root / name, follow_symlinks=False)
