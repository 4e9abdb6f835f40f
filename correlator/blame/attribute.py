"""Who set a field: by a record, by the audit log, else by managedFields, said to be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from correlator.detector.managers import may_write
from correlator.link.drifted import Drifted, Knowledge
from correlator.link.holders import since
from correlator.link.link import Link, State, link
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.managed import Entry, owners_at
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Path
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt


class Source(StrEnum):
    """Where a name comes from."""

    RECORD = "record"
    AUDIT = "audit"
    """The API server's audit log, which proves it; there is no record."""

    MANAGED_FIELDS = "managedFields"
    NOTHING = ""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who set a field, as far as that is known."""

    who: str = ""
    when: datetime | None = None
    ticket: str = ""
    reason: str = ""
    record: str = ""
    source: Source = Source.NOTHING


@dataclass(frozen=True, slots=True)
class History:
    """What is known of one object."""

    cluster: str
    ref: Ref
    entries: tuple[Entry, ...]
    attempts: Sequence[Attempt]
    """Newest first."""

    masks: Masks | None = None
    keepers: frozenset[str] = frozenset()
    """The field managers of the object's owner."""
    knowledge: Knowledge = field(default_factory=Knowledge)
    """What is known beside the records."""

    generation: int = 0
    """How often the object's spec was written; 0 where that is not counted."""

    def attribute(self, path: Path, value: Any) -> Attribution:  # noqa: ANN401 - any JSON value
        """Return who set *value* at *path*."""
        holders = owners_at(self.entries, path)
        writers = tuple(filter(may_write, self.entries))
        drifted = Drifted(
            self.cluster, self.ref, path, ABSENT, value, holders,
            entries=writers, keepers=self.keepers, generation=self.generation,
        )  # fmt: skip
        found = link(drifted, self.attempts, self.knowledge, self.masks)
        if found.state is State.EXPLAINED:
            attempt = next(each for each in self.attempts if each.id == found.records[0])
            return Attribution(
                _who(found),
                found.time,
                found.ticket,
                attempt.reason,
                found.records[0],
                Source.RECORD,
            )
        if found.actor:
            return Attribution(_who(found), found.time, source=Source.AUDIT)
        managers = ", ".join(dict.fromkeys(entry.manager for entry in holders))
        if not managers:
            return Attribution()
        return Attribution(managers, since(holders), source=Source.MANAGED_FIELDS)


def _who(found: Link) -> str:
    """Return who it was; who posed as somebody else comes first, that is the person to ask."""
    return f"{found.impersonator} as {found.actor}" if found.impersonator else found.actor


Attribute = Callable[[Path, Any], Attribution]
