"""What got past the webhook, by the API server's audit log: read on, pass after pass."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from correlator.audit.log import AuditLog
from correlator.causes import Causes
from correlator.classify import Scene
from correlator.finding import Result
from correlator.service import metrics
from correlator.service.source import SourceFailed
from glasswarden.audit.tail import Tail

RECENT: Final = timedelta(days=7)
"""How long what got past the webhook is told, and for how long it can explain a field."""


class AuditSource:
    """Follows the files of a folder. Belongs to one thread.

    What it has read explains what the others find, from the next pass on. It is asked last: what
    Git tells about a field comes before what the log tells.
    """

    name = "audit"
    team = ""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tail = Tail(folder)
        self._log: AuditLog | None = None

    def read(self, scene: Scene, causes: Causes) -> Result:
        """Return what got past the webhook lately; raises `SourceFailed`."""
        log = self._log_by(scene)
        try:
            for event in self._tail.events(log.flawed):
                log.take(event)
        except OSError as error:
            raise SourceFailed(f"{self._folder}: {error.strerror}") from error
        log.forget(scene.now - RECENT)
        causes.audit = log
        if log.watch.until is not None:
            metrics.AUDIT_EVENT.set(log.watch.until.timestamp())
        told = log.result
        # Of several on one object the last one counts.
        return replace(told, findings=tuple(reversed(told.findings)))

    def close(self) -> None:
        """Let go of what was read."""
        if self._log is not None:
            self._log.close()

    def _log_by(self, scene: Scene) -> AuditLog:
        """Return what was read so far; by other rules, it is read anew."""
        if self._log is None or self._log.watch.policy is not scene.policy:
            self.close()
            self._log, self._tail = AuditLog(scene.policy), Tail(self._folder)
        return self._log
