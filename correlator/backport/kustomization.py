"""One kustomization: its file, what it says, and the same file saying something else."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from correlator.backport.errors import CannotEdit
from correlator.backport.rewrite import rewritten, value_of
from correlator.backport.spans import pieces_of
from correlator.backport.tree import Tree, folder_of, joined


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization in a tree."""

    tree: Tree
    path: str
    document: int
    says: dict[str, Any]

    @property
    def folder(self) -> str:
        """Its folder."""
        return folder_of(self.path)

    def listed(self, key: str) -> list[Any]:
        """Return the list under *key*, empty where there is none."""
        found = self.says.get(key)
        return found if isinstance(found, list) else []

    def saying(self, key: str, value: Any) -> Tree:  # noqa: ANN401 - any JSON value
        """Return the tree with *value* under *key* here, or raise `CannotEdit`."""
        text = self.tree.text(self.path)
        return self.tree.edited(
            self.path, rewritten(text, self.document, {**self.says, key: value})
        )

    def with_item(self, key: str, position: int, item: Any) -> Tree:  # noqa: ANN401
        """Return the tree with *item* at *position* of the list under *key*."""
        items = list(self.listed(key))
        items[position : position + 1] = [item]
        return self.saying(key, items)


def kustomization_in(tree: Tree, folder: str) -> Kustomization | None:
    """Return the kustomization in *folder*, none where there is none that can be read."""
    path = tree.kustomization(folder)
    text = tree.read(path) if path else None
    if path is None or text is None:
        return None
    for index, piece in enumerate(pieces_of(text)):
        try:
            says = value_of(piece)
        except CannotEdit:
            return None
        if isinstance(says, dict):
            return Kustomization(tree, path, index, says)
    return None


def owned_by(tree: Tree, folder: str) -> Iterator[Kustomization]:
    """Yield the kustomization in *folder*, then those that it takes in from folders below it.

    A base beside it may be shared with other overlays, and is never one of its own.
    """
    pending = [folder]
    seen = set()
    while pending:
        at = pending.pop(0)
        found = kustomization_in(tree, at)
        if found is None or at in seen:
            continue
        seen.add(at)
        yield found
        pending += [
            joined(at, each)
            for each in (*found.listed("resources"), *found.listed("components"))
            if isinstance(each, str) and "://" not in each and ".." not in each.split("/")
        ]
