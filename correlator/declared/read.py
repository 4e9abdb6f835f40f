"""The objects that Git declares: in a folder, a Kustomize overlay or a Helm chart.

To add a way of rendering, add a function that returns `Manifests`, and call it in `render_path`.
`FollowedGit` answers for single objects, and reads the repository again after it has changed.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import Address, open_address, resolve_commit
from correlator.declared.manifests import Manifests
from correlator.declared.render import (
    Release,
    build_kustomization,
    is_chart,
    is_kustomization,
    read_plain,
    render_chart,
)
from correlator.finding import Incomplete
from correlator.still_live import Lookup, NotKnown
from glasswarden.kube.objects import Object, Ref, object_key_of, ref_of

_NOTHING: Final = "it holds no manifest, so there is nothing to compare with"


def read_declared(address: Address, path: str, release: Release) -> Manifests:
    """Return what the folder *path* at *address* declares. Raises `DeclaredUnreadable`."""
    with open_address(address) as checkout:
        root = checkout.folder.resolve()
        chosen = (root / path).resolve()
        if not chosen.is_relative_to(root):
            raise DeclaredUnreadable(f"{path} is outside of {address.place}")
        if not chosen.exists():
            raise DeclaredUnreadable(f"{address.place} has no {path or 'such folder'}")
        found = render_path(chosen, release)
        if not is_kustomization(chosen):  # which names its files, and fails where it lacks one
            inside = chosen.relative_to(root)
            unread = tuple(_select_below(inside, checkout.unread))
            found = replace(found, incomplete=(*found.incomplete, *unread))
        if not found.objects and not found.incomplete:
            # An empty folder is a mistyped path more often than an application without objects.
            found = replace(found, incomplete=(Incomplete(path or address.place, _NOTHING),))
        return replace(found, revision=checkout.revision)


def _select_below(folder: Path, unread: Mapping[str, str]) -> Iterator[Incomplete]:
    """Yield what of *unread* is in *folder*."""
    for path, why in sorted(unread.items()):
        if Path(path).is_relative_to(folder):
            yield Incomplete(path, why)


def fingerprint_of(address: Address, path: str) -> object:
    """Return what changes when what is declared may have changed, without reading it.

    For a folder as it lies there: its files' sizes and times. A revision is asked for by its name,
    so that a branch that moved on is noticed. Raises `DeclaredUnreadable`.
    """
    if address.is_remote or address.revision:
        return resolve_commit(address)
    found = []
    for folder, folders, files in os.walk(Path(address.place) / path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            status = (Path(folder) / name).lstat()
            found.append((folder, name, status.st_size, status.st_mtime_ns))
    return tuple(found)


def render_path(path: Path, release: Release) -> Manifests:
    """Return what *path* declares, built with the program that it is made for."""
    if is_chart(path):
        return render_chart(path, release)
    if is_kustomization(path):
        return build_kustomization(path)
    return read_plain(path)


def lookup_in(manifests: Manifests, home: str = "") -> Lookup:
    """Return a lookup in *manifests*; *home* is the namespace of those that name none.

    The version does not matter: Git may declare an object in another one than it was written in.
    """
    by_name = {object_key_of(ref_of(each.manifest)): each for each in manifests.objects}

    def find_declared(ref: Ref) -> Object | None:
        found = by_name.get(object_key_of(ref))
        # A manifest may leave its namespace to whoever applies it.
        if found is None and home in ("", ref.namespace):
            found = by_name.get(object_key_of(replace(ref, namespace="")))
        return found.manifest if found else None

    return find_declared


@dataclass(slots=True)
class FollowedGit:
    """One repository, for all that ask about it. Nothing is read before that."""

    address: Address
    path: str = ""
    release: Release = field(default_factory=Release)
    home: str = ""
    """The namespace of objects that name none."""

    _state: object = field(default=None, init=False)
    _lookup: Lookup | None = field(default=None, init=False)
    _fresh: bool = field(default=False, init=False)

    def read_revision(self) -> object:
        """Return what changes when something else may be declared. Raises `DeclaredUnreadable`."""
        return fingerprint_of(self.address, self.path)

    def read(self) -> Manifests:
        """Return what is declared, rendered now; later lookups go by it.

        Raises `DeclaredUnreadable`.
        """
        state = self.read_revision()
        manifests = read_declared(self.address, self.path, self.release)
        self._lookup, self._state, self._fresh = lookup_in(manifests, self.home), state, True
        return manifests

    def expire(self) -> None:
        """Have the next question find out whether the repository has moved on."""
        self._fresh = False

    def __call__(self, ref: Ref) -> Object | None:
        """Return what is declared about *ref*, none where nothing is; raise `NotKnown`."""
        try:
            return self._current()(ref)
        except DeclaredUnreadable as error:
            raise NotKnown(str(error)) from error

    def _current(self) -> Lookup:
        if self._lookup is None or (not self._fresh and self.read_revision() != self._state):
            return lookup_in(self.read(), self.home)
        self._fresh = True
        return self._lookup
