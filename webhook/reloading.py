"""The policy in force, and its renewal when the file changes.

A file that is broken changes nothing: the policy that served so far goes on serving.

The keys that stamps are signed with, and their renewal when the folder changes.

A folder that cannot be read changes nothing: the keys that served so far go on serving.

Everything secret that the webhook needs, in one folder.
"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from glasswarden.keys.folder import KeysUnreadable, new_key, read_ring
from glasswarden.keys.ring import NoKey, Ring
from glasswarden.ledger.keys import make_keys
from glasswarden.policy.policy import DEFAULT
from glasswarden.policy_file import PolicyUnreadable, parse_policy, read_text
from webhook.metrics import GRANT_KEY, POLICY_REJECTED, POLICY_RELOADS

POLL_SECONDS: Final = 1.0

log = structlog.get_logger()


class Rules:
    """Holds the policy that decides now."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._text = "" if path is None else read_text(path)
        self._complaint = ""
        self.policy = DEFAULT if path is None else parse_policy(path, self._text)

    async def follow(self) -> None:
        """Take the file up again whenever it changes, for as long as the process lives."""
        while self._path is not None:
            await asyncio.sleep(POLL_SECONDS)
            self.refresh()

    def refresh(self) -> None:
        """Take the file up again if it says something else than it did."""
        if self._path is None:
            return
        try:
            text = read_text(self._path)
            if text == self._text and not self._complaint:
                return
            self._text = text
            self.policy = parse_policy(self._path, text)
        except PolicyUnreadable as error:
            self._complain(str(error))
        except Exception as error:  # noqa: BLE001 - the outermost edge of the task that follows it
            # Whatever this file does to us, the next one must be read.
            self._complain(f"{self._path}: {type(error).__name__} while it was read")
        else:
            log.info("policy reloaded", digest=self.policy.digest)
            POLICY_RELOADS.labels("taken").inc()
            POLICY_REJECTED.set(0)
            self._complaint = ""

    def _complain(self, reason: str) -> None:
        """Say that the file cannot be used, once for each reason."""
        if reason != self._complaint:
            log.warning("policy not reloaded", reason=reason, serving=self.policy.digest)
            POLICY_RELOADS.labels("refused").inc()
            POLICY_REJECTED.set(1)
        self._complaint = reason


PREFIX: Final = "grant"


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
            self._complain(str(error))
        except Exception as error:  # noqa: BLE001 - the outermost edge of the task that follows it
            # Whatever this folder does to us, the next change of it must be read.
            self._complain(f"{type(error).__name__} while they were read")
        else:
            self._complaint = ""
            if gone := had.ids - self.ring.ids:
                log.warning("grant keys revoked", keys=sorted(gone))

    def _complain(self, reason: str) -> None:
        """Log why the keys cannot be renewed, once for each reason."""
        if reason != self._complaint:
            log.warning("grant keys not renewed", reason=reason)
        self._complaint = reason


def make_key_folder(folder: Path, now: datetime) -> None:
    """Make the keys in *folder* that are missing: the ledger's, and a first one for grants."""
    make_keys(folder, now)
    if not read_ring(folder, PREFIX):
        new_key(folder, PREFIX, now)
