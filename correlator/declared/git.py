"""A Git repository at a revision, laid out in a folder that lasts as long as it is read.

The working tree and the index of a local repository are not touched.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from correlator.declared.checkout import check_out, empty_submodules
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.programs import find_program, output_of

_HEAD: Final = "HEAD"


@dataclass(frozen=True, slots=True)
class Checkout:
    """The files of a revision."""

    folder: Path
    revision: str
    """The commit's id; empty where the files are no commit's."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Paths inside of it that are not there though the revision has them, and why."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where declared state is: a folder, or a repository and a revision of it."""

    place: str
    revision: str
    """Empty to take a folder as it lies there, or a repository's default branch."""

    @property
    def is_remote(self) -> bool:
        """Whether the place is a URL, or `host:path` as ssh takes it."""
        if "://" in self.place:
            return True
        return ":" in self.place and not Path(self.place).exists()


def parse_address(text: str) -> Address:
    """Return the address that *text* spells: ``DIR``, ``DIR@REV``, ``URL`` or ``URL@REV``."""
    if Path(text).exists():
        return Address(text, "")
    place, at, revision = text.rpartition("@")
    # The @ of git@host:path, and that of https://user@host/path, belongs to the host.
    is_host = ":" in revision or ("://" in place and "/" not in place.partition("://")[2])
    return Address(text, "") if not at or is_host else Address(place, revision)


@contextmanager
def open_address(address: Address) -> Iterator[Checkout]:
    """Give the files at *address* for the time of the block."""
    if not address.is_remote and not address.revision:
        yield _as_it_lies_there(Path(address.place))
        return
    git = find_program("git", "it reads repositories at a revision")
    with tempfile.TemporaryDirectory(prefix="glasswarden-git-") as temporary:
        repository, commit = _fetched(git, address, Path(temporary))
        folder = Path(temporary, "files")
        yield Checkout(folder, commit, check_out(git, repository, commit, folder))


def current_commit(address: Address) -> str:
    """Return the commit that *address* stands for now, without fetching it."""
    git = find_program("git", "it reads repositories at a revision")
    if not address.is_remote:
        return _commit(git, Path(address.place), address.revision)
    revision = address.revision or _HEAD
    listed = output_of([git, "ls-remote", "--", address.place, revision]).split()
    # What no name leads to is a commit's own id, which stands for itself.
    return listed[0] if listed else revision


def _fetched(git: str, address: Address, temporary: Path) -> tuple[Path, str]:
    """Return a repository that has the revision, and the commit it stands for."""
    if not address.is_remote:
        place = Path(address.place)
        if not place.is_dir():
            raise DeclaredUnreadable(f"{place} is not a folder")
        return place, _commit(git, place, address.revision)
    bare = temporary / "repository.git"
    output_of([git, "init", "--quiet", "--bare", bare])
    revision = address.revision or _HEAD
    try:
        # One commit is all that is read.
        fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--", address.place, revision]
        output_of([git, "-C", bare, *fetch])
        return bare, _commit(git, bare, "FETCH_HEAD")
    except DeclaredUnreadable:
        # An abbreviated commit, or one that no branch ends at, cannot be asked for by name.
        everything = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
        output_of([git, "-C", bare, "fetch", "--quiet", "--", address.place, *everything])
        return bare, _commit(git, bare, revision)


def _commit(git: str, repository: Path, revision: str) -> str:
    arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    try:
        return output_of([git, "-C", repository, *arguments]).strip()
    except DeclaredUnreadable as error:
        raise DeclaredUnreadable(f"{repository} has no revision {revision!r}") from error


def _as_it_lies_there(folder: Path) -> Checkout:
    """Return *folder*, with the commit that it was checked out from and whether it was edited."""
    try:
        git = find_program("git", "")
        describe = ["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
        revision = output_of([git, "-C", folder, *describe]).strip()
    except DeclaredUnreadable:
        return Checkout(folder, "")
    return Checkout(folder, revision, empty_submodules(git, folder))
