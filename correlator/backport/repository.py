"""The Git repository: where it begins, and a commit on a new branch of it.

Its working tree, index and checked-out branch are not touched, and none of its hooks run.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from correlator.backport.errors import RepositoryUnusable
from correlator.declared import DeclaredUnreadable
from correlator.declared.programs import find_program, output_of

_FILE: Final = "100644"
_NO_COMMIT: Final = "0" * 40


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder, and the repository that it is in."""

    root: Path
    """Where the repository begins; the folder itself where it is in none."""
    folder: str
    """The folder, from there."""
    is_git: bool = True

    def commit_at(self, revision: str) -> str:
        """Return the commit that *revision* stands for."""
        asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        try:
            return self._git(*asked)
        except DeclaredUnreadable as error:
            raise RepositoryUnusable(f"{self.root} has no revision {revision!r}") from error

    def check_branch(self, branch: str) -> None:
        """Raise `RepositoryUnusable` unless *branch* could be made."""
        if not self.is_git:
            raise RepositoryUnusable(f"{self.root} is no Git repository: it has no branches")
        try:
            self._git("check-ref-format", "--branch", branch)
        except DeclaredUnreadable as error:
            raise RepositoryUnusable(f"{branch!r} is no name for a branch") from error
        try:
            self._git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        except DeclaredUnreadable:
            return
        raise RepositoryUnusable(f"the branch {branch} exists; choose another name")

    def commit(
        self, base: str, branch: str, changed: Mapping[str, str | None], message: str
    ) -> str:
        """Return the commit on the new *branch* that follows *base*, with the files *changed*."""
        try:
            with tempfile.TemporaryDirectory(prefix="glasswarden-commit-") as temporary:
                tree = self._tree(Path(temporary), base, changed)
                note = Path(temporary, "message")
                note.write_text(message)
                commit = self._git("commit-tree", tree, "-p", base, "-F", str(note))
            self._git("update-ref", f"refs/heads/{branch}", commit, _NO_COMMIT)
        except (OSError, DeclaredUnreadable) as error:
            raise RepositoryUnusable(f"nothing was committed: {error}") from error
        return commit

    def _tree(self, temporary: Path, base: str, changed: Mapping[str, str | None]) -> str:
        index = {"GIT_INDEX_FILE": str(temporary / "index")}
        self._git("read-tree", base, environment=index)
        for path, text in changed.items():
            if text is None:
                self._git("update-index", "--force-remove", "--", path, environment=index)
                continue
            file = temporary / "content"
            file.write_bytes(text.encode())
            blob = self._git("hash-object", "-w", f"--path={path}", str(file))
            entry = f"{self._mode(base, path)},{blob},{path}"
            self._git("update-index", "--add", "--cacheinfo", entry, environment=index)
        return self._git("write-tree", environment=index)

    def _mode(self, base: str, path: str) -> str:
        listed = self._git("ls-tree", base, "--", path)
        return listed.split()[0] if listed else _FILE

    def _git(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        git = find_program("git", "it reads and writes repositories")
        return output_of([git, "-C", self.root, *arguments], environment=environment).strip()


def find_repository(place: Path) -> Repository:
    """Return the repository that *place* is in."""
    if not place.is_dir():
        raise RepositoryUnusable(f"{place} is not a folder")
    git = find_program("git", "it reads and writes repositories")
    try:
        root = output_of([git, "-C", place, "rev-parse", "--show-toplevel"]).strip()
        prefix = output_of([git, "-C", place, "rev-parse", "--show-prefix"]).strip()
    except DeclaredUnreadable:
        return Repository(place.resolve(), "", is_git=False)
    return Repository(Path(root), prefix.rstrip("/"))
