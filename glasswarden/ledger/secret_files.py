"""Files with secrets: made once, whole, and readable by their owner alone."""

import os
from pathlib import Path

from glasswarden.ledger.folders import make_folder, sync_folder


def create_once(path: Path, content: bytes) -> None:
    """Write *content* to *path* unless something is there: of two makers the first wins."""
    make_folder(path.parent)
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
        sync_folder(path.parent)
