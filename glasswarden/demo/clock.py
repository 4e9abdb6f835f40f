"""The story's clock: it stands at the moment that is being told, for whoever reads it."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StoryClock:
    """A file that holds a moment; one process sets it, another goes by it."""

    file: Path

    def __call__(self) -> datetime:
        """Return the moment that is being told."""
        return datetime.fromisoformat(self.file.read_text())

    def set(self, time: datetime) -> None:
        """Let it be *time*."""
        coming = self.file.with_suffix(".next")
        coming.write_text(time.isoformat())
        # At once, so that nobody reads half a moment.
        coming.replace(self.file)
