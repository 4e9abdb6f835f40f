"""The keys that stamps are signed with, and their renewal when the folder changes.

A folder that cannot be read changes nothing: the keys that served so far go on serving.
"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from glasswarden.keys.folder import KeysUnreadable, read_ring
from glasswarden.keys.ring import NoKey, Ring
from webhook.metrics import GRANT_KEY

PREFIX: Final = "grant"
POLL_SECONDS: Final = 1.0

log = structlog.get_logger()


class GrantKeys:
    """Holds the keys in use."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._complaint = ""
        self.ring = Ring() if folder is None else read_ring(folder, PREFIX)

    def show(self, now: datetime) -> None:
        """Tell the figures since when the key signs that is in use."""
        try:
            since = self.ring.current(now).active_from.timestamp()
        except NoKey:
            since = 0.0
        GRANT_KEY.labels("grant").set(since)

    async def follow(self) -> None:
        """Take the folder up again every second, for as long as the process lives."""
        while self._folder is not None:
            self.show(datetime.now(UTC))
            await asyncio.sleep(POLL_SECONDS)
            self.refresh()

    def refresh(self) -> None:
        """Take up the keys that the folder holds now; one that is gone counts no longer."""
        if self._folder is None:
            return
        had = self.ring
        try:
            self.ring = read_ring(self._folder, PREFIX)
        except KeysUnreadable as error:
            if str(error) != self._complaint:
                log.warning("grant keys not renewed", reason=str(error))
            self._complaint = str(error)
        else:
            self._complaint = ""
            if gone := had.ids - self.ring.ids:
                log.warning("grant keys revoked", keys=sorted(gone))
