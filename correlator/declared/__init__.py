"""What Git says: the objects that a folder, a Kustomize overlay or a Helm chart declares.

To add a way of rendering: one file with a function that returns `Manifests`, and its line in
`rendered`.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from correlator.declared.documents import Declared, Manifests
from correlator.declared.errors import DeclaredUnreadable, ProgramMissing
from correlator.declared.git import Address, current_commit, open_address, parse_address
from correlator.declared.helm import Release, is_chart, render_chart
from correlator.declared.kustomize import build_kustomization, is_kustomization
from correlator.declared.plain import read_plain
from correlator.finding import Incomplete

__all__ = [
    "Address",
    "Declared",
    "DeclaredUnreadable",
    "Manifests",
    "ProgramMissing",
    "Release",
    "fingerprint",
    "parse_address",
    "read_declared",
    "rendered",
]

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
        found = rendered(chosen, release)
        if not is_kustomization(chosen):  # which names its files, and fails where it lacks one
            inside = chosen.relative_to(root)
            unread = tuple(_below(inside, checkout.unread))
            found = replace(found, incomplete=(*found.incomplete, *unread))
        if not found.objects and not found.incomplete:
            # An empty folder is a mistyped path more often than an application without objects.
            found = replace(found, incomplete=(Incomplete(path or address.place, _NOTHING),))
        return replace(found, revision=checkout.revision)


def _below(folder: Path, unread: Mapping[str, str]) -> Iterator[Incomplete]:
    """Yield what of *unread* is in *folder*."""
    for path, why in sorted(unread.items()):
        if Path(path).is_relative_to(folder):
            yield Incomplete(path, why)


def fingerprint(address: Address, path: str) -> object:
    """Return what changes when what is declared may have changed, without reading it.

    For a folder as it lies there: its files' sizes and times. A revision is asked for by its name,
    so that a branch that moved on is noticed. Raises `DeclaredUnreadable`.
    """
    if address.is_remote or address.revision:
        return current_commit(address)
    found = []
    for folder, folders, files in os.walk(Path(address.place) / path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            status = (Path(folder) / name).lstat()
            found.append((folder, name, status.st_size, status.st_mtime_ns))
    return tuple(found)


def rendered(path: Path, release: Release) -> Manifests:
    """Return what *path* declares, built with the program that it is made for."""
    if is_chart(path):
        return render_chart(path, release)
    if is_kustomization(path):
        return build_kustomization(path)
    return read_plain(path)
