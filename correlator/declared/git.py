"""A Git repository at a revision, checked out to a temporary folder.

The working tree and the index of a local repository are not touched. `git archive` is not used,
because it omits what `.gitattributes` marks for export, which would look deleted from Git. No
hooks, filters or configuration files apply: what is committed is what is declared. Programs (git,
kustomize, helm) run without a prompt and with a time limit.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from correlator.declared.errors import DeclaredUnreadable, ProgramMissing

LONGEST_SECONDS: Final = 300.0
_LAST_LINES: Final = 5

# Nobody is there to type a password into a scan.
_UNLESS_SET: Final = {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}
_ENVIRONMENT: Final = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "LC_ALL": "C.UTF-8"}


def find_program(name: str, advice: str) -> str:
    """Return where *name* is installed, or raise `ProgramMissing` with *advice*."""
    found = shutil.which(name)
    if found is None:
        raise ProgramMissing(f"{name} is not installed; {advice}")
    return found


def output_of(
    command: Sequence[str | Path],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return what *command* prints, or raise `DeclaredUnreadable` with what it complains about."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and only git, kustomize, kubectl, helm
            command,
            cwd=folder,
            env={**_UNLESS_SET, **os.environ, **_ENVIRONMENT, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
    except OSError as error:
        raise DeclaredUnreadable(f"{name} cannot be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise DeclaredUnreadable(f"{name} took longer than {LONGEST_SECONDS:.0f} s") from error
    if done.returncode != 0:
        complaint = done.stderr.decode(errors="replace").strip().splitlines()
        raise DeclaredUnreadable(f"{name} failed: {' '.join(complaint[-_LAST_LINES:])}")
    return done.stdout.decode(errors="replace")


_OF_NOBODY: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_SUBMODULE: Final = "160000"
_IS_SUBMODULE: Final = "a submodule, whose files are in another repository"
_LEADS_OUT: Final = "a link to what is not in the repository"


def check_out(git: str, repository: Path, commit: str, folder: Path) -> dict[str, str]:
    """Lay out *commit* of *repository* in *folder*; return what is not there, and why."""
    store = folder.with_suffix(".store")
    shape = output_of([git, "-C", repository, "rev-parse", "--show-object-format"]).strip()
    objects = output_of([git, "-C", repository, "rev-parse", "--git-path", "objects"]).strip()
    output_of(
        [git, "init", "--quiet", "--bare", f"--object-format={shape}", store], None, _OF_NOBODY
    )
    folder.mkdir()
    # The repository lends its objects to one without attributes and settings of its own.
    around = {
        **_OF_NOBODY,
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str((repository / objects).resolve()),
    }
    here = [git, f"--git-dir={store}", f"--work-tree={folder}"]
    output_of([*here, "read-tree", commit], folder, around)
    output_of([*here, "checkout-index", "--all", "--quiet"], folder, around)
    listed = output_of([*here, "ls-files", "--stage", "-z"], folder, around)
    return dict.fromkeys(_parse_submodules(listed), _IS_SUBMODULE) | _remove_outside_links(folder)


def find_empty_submodules(git: str, folder: Path) -> dict[str, str]:
    """Return the submodules below *folder*, a working tree, of which nothing was checked out."""
    try:
        listed = output_of([git, "-C", folder, "ls-files", "--stage", "-z"])
    except DeclaredUnreadable:
        return {}  # it is in no repository
    return {
        path: _IS_SUBMODULE
        for path in _parse_submodules(listed)
        if (folder / path).is_dir() and not any((folder / path).iterdir())
    }


def _parse_submodules(listed: str) -> list[str]:
    """Return the paths of submodules in what `git ls-files --stage -z` prints."""
    entries = (entry.partition("\t") for entry in listed.split("\0"))
    return [path for head, _, path in entries if head.startswith(_SUBMODULE)]


def _remove_outside_links(folder: Path) -> dict[str, str]:
    """Take away links that lead out of *folder*, whoever may read what is there; return them."""
    root, taken = folder.resolve(), {}
    for place, folders, files in os.walk(folder):
        for entry in (Path(place, name) for name in (*folders, *files)):
            if entry.is_symlink() and not _is_inside(entry, root):
                entry.unlink()
                taken[str(entry.relative_to(folder))] = _LEADS_OUT
    return taken


def _is_inside(link: Path, root: Path) -> bool:
    try:
        return link.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):  # it leads nowhere, or in a circle
        return False


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
        yield _checkout_of(Path(address.place))
        return
    git = find_program("git", "it reads repositories at a revision")
    with tempfile.TemporaryDirectory(prefix="glasswarden-git-") as temporary:
        repository, commit = _fetch(git, address, Path(temporary))
        folder = Path(temporary, "files")
        yield Checkout(folder, commit, check_out(git, repository, commit, folder))


def resolve_commit(address: Address) -> str:
    """Return the commit that *address* stands for now, without fetching it."""
    git = find_program("git", "it reads repositories at a revision")
    if not address.is_remote:
        return _commit(git, Path(address.place), address.revision)
    revision = address.revision or _HEAD
    listed = output_of([git, "ls-remote", "--", address.place, revision]).split()
    # What no name leads to is a commit's own id, which stands for itself.
    return listed[0] if listed else revision


def _fetch(git: str, address: Address, temporary: Path) -> tuple[Path, str]:
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


def _checkout_of(folder: Path) -> Checkout:
    """Return *folder*, with the commit that it was checked out from and whether it was edited."""
    try:
        git = find_program("git", "")
        describe = ["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
        revision = output_of([git, "-C", folder, *describe]).strip()
    except DeclaredUnreadable:
        return Checkout(folder, "")
    return Checkout(folder, revision, find_empty_submodules(git, folder))
