"""To whom each change of a write is put down: the field manager, and whether it applied."""

import msgspec

from glasswarden.kube.managed import Entry, owners_at
from glasswarden.kube.paths import Path


class Author(msgspec.Struct, frozen=True):
    """A field manager and its operation, ``Apply`` or ``Update``; empty where nothing tells."""

    manager: str = ""
    operation: str = ""


class Authors(msgspec.Struct, frozen=True):
    """Everything about one write that may tell who made which change."""

    requested: str
    """The field manager that the request itself named, if it did."""
    writers: tuple[Entry, ...]
    """The entries that the write left in managedFields, the latest first."""
    entries: tuple[Entry, ...]
    """All entries after the write."""

    def at(self, path: Path) -> Author:
        """Return the author of the change at *path*."""
        if self.requested:
            return self._requested(path)
        if len(self.writers) == 1:
            return _author(self.writers[0])
        # Several entries move when a client rewrites managedFields itself; none moves when a write
        # removes fields only, or is the same manager's second one within a second.
        owners = owners_at(self.writers or self.entries, path) or self.writers
        return _author(max(owners, key=lambda entry: entry.time)) if owners else Author()

    def _requested(self, path: Path) -> Author:
        # The name is known, so all that the entries can add is whether it applied. Where none has
        # moved, the manager that owns the field wrote it twice within a second.
        for entry in self.writers:
            if entry.manager == self.requested:
                return _author(entry)
        own = tuple(entry for entry in self.entries if entry.manager == self.requested)
        owners = owners_at(own, path)
        return _author(owners[0]) if owners else Author(self.requested, "Update")


def _author(entry: Entry) -> Author:
    return Author(entry.manager, entry.operation)
