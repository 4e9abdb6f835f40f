"""The files of a commit, laid out in a folder: all of them, or it is said which are not.

Not by `git archive`, which leaves out what `.gitattributes` marks for export: what is missing then
looks deleted from Git. No hook runs, and no filter: no configuration but an empty one is read, so
what is committed is what is declared.
"""

import os
from pathlib import Path
from typing import Final

from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.programs import output_of

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
    return dict.fromkeys(_submodules(listed), _IS_SUBMODULE) | _without_ways_out(folder)


def empty_submodules(git: str, folder: Path) -> dict[str, str]:
    """Return the submodules below *folder*, a working tree, of which nothing was checked out."""
    try:
        listed = output_of([git, "-C", folder, "ls-files", "--stage", "-z"])
    except DeclaredUnreadable:
        return {}  # it is in no repository
    return {
        path: _IS_SUBMODULE
        for path in _submodules(listed)
        if (folder / path).is_dir() and not any((folder / path).iterdir())
    }


def _submodules(listed: str) -> list[str]:
    """Return the paths of submodules in what `git ls-files --stage -z` prints."""
    entries = (entry.partition("\t") for entry in listed.split("\0"))
    return [path for head, _, path in entries if head.startswith(_SUBMODULE)]


def _without_ways_out(folder: Path) -> dict[str, str]:
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
