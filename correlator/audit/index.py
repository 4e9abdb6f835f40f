"""What an audit log says about records and objects, kept where a log of any size fits.

On the disk, in a temporary file that nobody else sees: a log may be larger than memory, and which
of its events matter is not known while it is read.
"""

import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from correlator.audit.writes import WATCHED, audited, reference_of
from correlator.link.audited import AuditedWrite, Way
from correlator.link.drifted import Witness
from glasswarden.audit.event import COMPLETE, Event, parse_event
from glasswarden.audit.testimony import records_in
from glasswarden.kube.objects import Ref

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
                "INSERT OR IGNORE INTO witness VALUES (?, ?, ?, ?, ?)", _witnesses(event)
            )
        reference = reference_of(event)
        if way is None or not reference.name or reference.subresource not in WATCHED:
            return
        row = (
            reference.api_group,
            reference.namespace,
            reference.name,
            reference.resource,
            _stamp(event.request_received_timestamp),
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
            audited(parse_event(zlib.decompress(event)), Way(way))
            for resource, way, event in rows
            if resource in resources_of(ref.kind)
        ]

    def forget(self, before: datetime) -> None:
        """Let go of writes that were stored before that time."""
        self._asked = None
        self._database.execute("DELETE FROM stored WHERE received < ?", (_stamp(before),))

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


def _stamp(time: datetime) -> str:
    """Return *time* so that texts sort as times do."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def _witnesses(event: Event) -> Iterator[tuple[str, str, bool | None, str, str]]:
    for record, _ in records_in(event):
        yield record, event.user.username, event.stored, event.source, event.user_agent
