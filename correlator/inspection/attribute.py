"""What a ledger says about findings: their causes, and the direct writes that still stand."""

from dataclasses import dataclass, replace
from datetime import datetime

from correlator.audit.log import AuditLog
from correlator.finding import Filter, Result
from correlator.linker import Linker, Linking, linker_of, unlinked
from correlator.live.source import Live
from correlator.sources.ledger import Asked, read_ledger
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, Head
from glasswarden.policy.policy import Policy


@dataclass(slots=True)
class Causes:
    """Links findings by what a ledger holds, again and again."""

    ledger: Ledger
    cluster: str
    policy: Policy
    masks: Masks | None
    audit: AuditLog | None = None
    """The API server's audit log, where it is at hand."""
    _known: tuple[list[Head], datetime | None] | None = None
    _linker: Linker | None = None

    def linker(self) -> Linker:
        """Return what links by the ledger as it is now: the same as before if nothing arrived."""
        known = self.ledger.heads(), self.audit.watch.until if self.audit else None
        if self._linker is None or known != self._known:
            linker = linker_of(self.ledger, self.cluster, self.policy, self.masks)
            if self.audit is not None:
                witnessed = linker.knowledge.and_also(self.audit.knowledge)
                linker = replace(linker, knowledge=witnessed)
            self._linker, self._known = linker, known
        return self._linker

    def standing(self, live: Live, only: Filter, now: datetime) -> Result:
        """Return the direct writes that still stand."""
        asked = Asked(
            cluster=self.cluster,
            policy=self.policy,
            masks=self.masks,
            since=None if only.age is None else now - only.age,
            wants=only.matches,
        )
        return read_ledger(self.ledger, live.one, asked)

    def open_grants(self, now: datetime) -> dict[str, datetime]:
        """Return when each grant ends that is open."""
        entries = (record.entry for record in self.ledger.open_grants(self.cluster, now))
        return {
            entry.grant: entry.grant_expires
            for entry in entries
            if isinstance(entry, Attempt) and entry.grant_expires is not None
        }


@dataclass(frozen=True, slots=True)
class NoCauses:
    """Stands where no ledger was named."""

    def linker(self) -> Linking:
        """Return what leaves findings as they are."""
        return unlinked

    def standing(self, live: Live, only: Filter, now: datetime) -> None:
        """Return nothing."""

    def open_grants(self, now: datetime) -> dict[str, datetime]:  # noqa: ARG002
        """Return none."""
        return {}
