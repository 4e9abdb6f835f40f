"""The policy and the keys in force, and their renewal when the files change.

A file that cannot be used changes nothing: what served so far goes on serving. It is logged, and
shown in the metrics.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from glasswarden.keys.folder import KeysUnreadable, new_key, read_ring
from glasswarden.keys.ring import NoKey, Ring
from glasswarden.ledger.keys import make_keys
from glasswarden.policy.policy import DEFAULT, Policy
from glasswarden.policy_file import PolicyUnreadable, parse_policy, read_text
from glasswarden.reloaded import Reloaded
from webhook.metrics import GRANT_KEY, POLICY_REJECTED, POLICY_RELOADS

log = structlog.get_logger()


class Rules:
    """Holds the policy that decides now."""

    def __init__(self, path: Path | None) -> None:
        self.policy = DEFAULT
        self._file: Reloaded[Policy] | None = None
        if path is not None:
            self._file = Reloaded(
                DEFAULT,
                lambda: read_text(path),
                lambda text: parse_policy(path, text),
                on_change=self._change,
                on_error=self._report,
                quoted=(PolicyUnreadable,),
            )
            self._file.load()
            self.policy = self._file.value

    async def follow(self) -> None:
        """Take the file up again whenever it changes, for as long as the process lives."""
        if self._file is not None:
            await self._file.follow()

    def refresh(self) -> None:
        """Load the file again if its content has changed."""
        if self._file is not None:
            self._file.refresh()

    def _change(self, policy: Policy) -> None:
        self.policy = policy
        log.info("policy reloaded", digest=policy.digest)
        POLICY_RELOADS.labels("taken").inc()
        POLICY_REJECTED.set(0)

    def _report(self, reason: str) -> None:
        log.warning("policy not reloaded", reason=reason, serving=self.policy.digest)
        POLICY_RELOADS.labels("refused").inc()
        POLICY_REJECTED.set(1)


PREFIX: Final = "grant"


class GrantKeys:
    """Holds the keys in use."""

    def __init__(self, folder: Path | None = None) -> None:
        self.ring = Ring()
        self._files: Reloaded[Ring] | None = None
        if folder is not None:
            self._files = Reloaded(
                self.ring,
                lambda: read_ring(folder, PREFIX),
                lambda ring: ring,
                on_change=self._change,
                on_error=lambda reason: log.warning("grant keys not renewed", reason=reason),
                quoted=(KeysUnreadable,),
            )
            self._files.load()
            self.ring = self._files.value

    async def follow(self) -> None:
        """Take the folder up again every second, for as long as the process lives."""
        if self._files is not None:
            await self._files.follow(lambda: self.show(datetime.now(UTC)))

    def refresh(self) -> None:
        """Take up the keys that the folder holds now; one that is deleted counts no longer."""
        if self._files is not None:
            self._files.refresh()

    def show(self, now: datetime) -> None:
        """Set the metric of since when the key signs that is in use."""
        try:
            since = self.ring.current_key(now).active_from.timestamp()
        except NoKey:
            since = 0.0
        GRANT_KEY.labels("grant").set(since)

    def _change(self, ring: Ring) -> None:
        had, self.ring = self.ring, ring
        if revoked := had.ids - ring.ids:
            log.warning("grant keys revoked", keys=sorted(revoked))


def make_key_folder(folder: Path, now: datetime) -> None:
    """Make the keys in *folder* that are missing: the ledger's, and a first one for grants."""
    make_keys(folder, now)
    if not read_ring(folder, PREFIX):
        new_key(folder, PREFIX, now)
