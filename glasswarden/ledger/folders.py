"""Folders whose entries survive a power failure: a new entry is synced with its folder."""

import os
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make *folder*, and those above it that are missing, for their owner alone."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in *folder* on the disk."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
