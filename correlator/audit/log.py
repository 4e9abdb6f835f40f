"""An audit log as evidence: witnesses of records, writes to objects, and what could not be read.

The index is a temporary file on the disk: a log may be larger than memory, and which of its events
matter is not known while it is read.
"""

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from correlator.attribution.context import AuditedWrite, Knowledge, Way, Witness
from correlator.audit.observed_write import finding_of
from correlator.audit.watch import Watch
from correlator.audit.writes import WATCHED, audited_write_of, reference_of
from correlator.finding import Incomplete, Result
from glasswarden.audit.event import COMPLETE, Event, parse_event, records_in
from glasswarden.audit.files import Flaw, read_events
from glasswarden.kube.objects import Ref
from glasswarden.policy.policy import Policy

MOST_WRITES: Final = 500
"""Writes to one object that are looked at, from the newest on."""

_SCHEMA: Final = """
PRAGMA journal_mode = OFF;
CREATE TABLE witness (id TEXT PRIMARY KEY, user TEXT, stored INTEGER, source TEXT, agent TEXT)
    WITHOUT ROWID;
CREATE TABLE stored (
    api_group TEXT, namespace TEXT, name TEXT, resource TEXT, received TEXT, audit_id TEXT,
    way TEXT, event BLOB, PRIMARY KEY (api_group, namespace, name, received, audit_id)
) WITHOUT ROWID;
"""


class Index:
    """Witnesses by record, and stored writes by object."""

    def __init__(self) -> None:
        # A database without a name is a temporary file.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.executescript(_SCHEMA)
        self.witnesses = Witnesses(self._database)
        self._asked: tuple[Ref, list[AuditedWrite]] | None = None

    def take(self, event: Event, way: Way | None) -> None:
        """Add *event*, whose write took *way*; none where nothing was stored."""
        self._asked = None
        if event.stage == COMPLETE:
            self._database.executemany(
                "INSERT OR IGNORE INTO witness VALUES (?, ?, ?, ?, ?)", _witness_rows_of(event)
            )
        reference = reference_of(event)
        if way is None or not reference.name or reference.subresource not in WATCHED:
            return
        row = (
            reference.api_group,
            reference.namespace,
            reference.name,
            reference.resource,
            _sortable_time_of(event.request_received_timestamp),
            event.audit_id,
            way,
            zlib.compress(msgspec.json.encode(event), 1),
        )
        self._database.execute("INSERT OR IGNORE INTO stored VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def writes_to(self, ref: Ref) -> list[AuditedWrite]:
        """Return what was stored of the object that *ref* names, newest first."""
        # The fields of one object are asked about one after the other.
        if self._asked is None or self._asked[0] != ref:
            self._asked = ref, self._read(ref)
        return self._asked[1]

    def _read(self, ref: Ref) -> list[AuditedWrite]:
        rows = self._database.execute(
            "SELECT resource, way, event FROM stored WHERE api_group = ? AND namespace = ?"
            " AND name = ? ORDER BY received DESC LIMIT ?",
            (ref.group, ref.namespace, ref.name, MOST_WRITES),
        )
        return [
            audited_write_of(parse_event(zlib.decompress(event)), Way(way))
            for resource, way, event in rows
            if resource in resources_of(ref.kind)
        ]

    def forget(self, before: datetime) -> None:
        """Let go of writes that were stored before that time."""
        self._asked = None
        self._database.execute(
            "DELETE FROM stored WHERE received < ?", (_sortable_time_of(before),)
        )

    def close(self) -> None:
        """Remove the temporary file."""
        self._database.close()


class Witnesses(Mapping[str, Witness]):
    """What the log says about records, by their ids."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __getitem__(self, record: str) -> Witness:
        ask = "SELECT user, stored, source, agent FROM witness WHERE id = ?"
        row = self._database.execute(ask, (record,)).fetchone()
        if row is None:
            raise KeyError(record)
        user, stored, source, agent = row
        return Witness(user, None if stored is None else bool(stored), source, agent)

    def __iter__(self) -> Iterator[str]:
        return (record for (record,) in self._database.execute("SELECT id FROM witness"))

    def __len__(self) -> int:
        (count,) = self._database.execute("SELECT count(*) FROM witness").fetchone()
        return int(count)


def resources_of(kind: str) -> frozenset[str]:
    """Return what the resource of *kind* may be called: the log has no kinds.

    As the API machinery guesses it (`UnsafeGuessKindToResource`); definitions follow that habit.
    """
    name = kind.lower()
    plural = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return frozenset({name, plural, f"{name}es"})


def _sortable_time_of(time: datetime) -> str:
    """Return *time* so that texts sort as times do."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def _witness_rows_of(event: Event) -> Iterator[tuple[str, str, bool | None, str, str]]:
    for record, _ in records_in(event):
        yield record, event.user.username, event.stored, event.source, event.user_agent


LAG: Final = timedelta(minutes=1)
"""How long an event may take to be written: nearer to its ends, nothing is missed in a log."""

MOST_FLAWS: Final = 20
"""Flaws that are told one by one; of more, how many there are."""


class AuditLog:
    """What was read of a log."""

    def __init__(self, policy: Policy) -> None:
        self.watch = Watch(policy)
        self.index = Index()
        self._flaws: list[Flaw] = []
        self._more = 0

    def take(self, event: Event) -> None:
        """Add one event; they are told in their order."""
        self.index.take(event, self.watch.take(event))

    def read(self, files: Iterable[Path], progress: Callable[[int], None]) -> None:
        """Add what *files* hold."""
        for event in read_events(files, self.note_flaw, progress):
            self.take(event)

    def forget(self, before: datetime) -> None:
        """Let go of what was seen, and of the writes that were stored, before that time."""
        self.watch.forget(before)
        self.index.forget(before)

    def note_flaw(self, flaw: Flaw) -> None:
        """Note a part of the log that could not be read."""
        if len(self._flaws) < MOST_FLAWS:
            self._flaws.append(flaw)
        else:
            self._more += 1

    @property
    def knowledge(self) -> Knowledge:
        """What the link may go by."""
        return Knowledge(
            witnesses=self.index.witnesses,
            unseen=self.watch.unseen,
            audited=self._covered_time(),
            written=self.index.writes_to,
        )

    def _covered_time(self) -> tuple[datetime, datetime] | None:
        if self.watch.since is None or self.watch.until is None:
            return None
        return self.watch.since + LAG, self.watch.until - LAG

    @property
    def result(self) -> Result:
        """What the log shows that no record speaks of, and what it does not tell."""
        findings = tuple(map(finding_of, self.watch.observed_writes))
        return Result(findings, tuple(self.incomplete))

    @property
    def incomplete(self) -> Sequence[Incomplete]:
        """What the log does not tell, and why."""
        found = [
            Incomplete(f"{_render_place(flaw)} of the audit log", flaw.why) for flaw in self._flaws
        ]
        if self._more:
            found.append(Incomplete(f"{self._more} more places of the audit log", "likewise"))
        why = "the audit log does not show whose objects they were to; a higher level does"
        for what, count in self.watch.untold.items():
            found.append(Incomplete(f"{count} {what}", why))
        if self.watch.until is None:
            found.append(Incomplete("the audit log", "it holds no complete event"))
        return found

    def close(self) -> None:
        """Let go of what is kept on the disk."""
        self.index.close()


def read_log(
    files: Iterable[Path], policy: Policy, progress: Callable[[int], None] = lambda _: None
) -> AuditLog:
    """Return what *files*, in any order, tell."""
    log = AuditLog(policy)
    log.read(files, progress)
    return log


def _render_place(flaw: Flaw) -> str:
    return f"{flaw.file}:{flaw.line}" if flaw.line else str(flaw.file)
