"""The file of a SQLite ledger: its tables, their migration, and how it is opened."""

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from glasswarden.ledger.compression import DICTIONARY, Bodies
from glasswarden.ledger.errors import (
    LaterTables,
    LedgerDamaged,
    LedgerMissing,
    LedgerUnavailable,
    MigrationNeeded,
)
from glasswarden.ledger.sqlite.driver import SqliteLedger
from glasswarden.ledger.sqlite.session import Session, Turns, TurnTimeout, failure_of

APPLICATION: Final = int.from_bytes(b"GLWD", "big")
"""Marks the file as ours: https://www.sqlite.org/pragma.html#pragma_application_id."""

# Questions are answered newest first, so every index ends with `id`, which a table WITHOUT ROWID
# appends by itself: the index is walked backwards, and nothing has to be sorted.
_RECORDS: Final = """
CREATE TABLE record (
    id            BLOB PRIMARY KEY,  -- the UUID's bytes
    time          INTEGER NOT NULL,  -- microseconds since 1970
    cluster       TEXT NOT NULL,
    writer        TEXT NOT NULL,
    sequence      INTEGER NOT NULL,
    type          TEXT NOT NULL,
    verdict       TEXT NOT NULL,
    actor         TEXT NOT NULL,
    "group"       TEXT NOT NULL,
    kind          TEXT NOT NULL,
    namespace     TEXT NOT NULL,
    name          TEXT NOT NULL,
    engine        TEXT NOT NULL,
    app           TEXT NOT NULL,
    app_namespace TEXT NOT NULL,
    ticket        TEXT NOT NULL,
    "grant"       TEXT NOT NULL,
    grant_act     TEXT NOT NULL,
    grant_expires INTEGER,
    fields        BLOB NOT NULL,     -- the paths, each between zero bytes
    body          BLOB NOT NULL,     -- deflated, see `bodies`
    digest        BLOB NOT NULL,
    signature     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX record_place ON record (writer, sequence);
-- With the fields in it, an object's field is found without a look at the records.
CREATE INDEX record_object ON record (name, namespace, id, fields);
CREATE INDEX record_namespace ON record (namespace);
CREATE INDEX record_actor ON record (actor);
CREATE INDEX record_app ON record (app);
CREATE INDEX record_ticket ON record (ticket) WHERE ticket <> '';
CREATE INDEX record_grant ON record ("grant") WHERE "grant" <> '';
CREATE INDEX record_granted ON record (id) WHERE "grant" <> '';
CREATE INDEX record_grant_expires ON record (grant_expires) WHERE grant_expires IS NOT NULL;
CREATE INDEX record_denied ON record (verdict) WHERE verdict = 'deny';
CREATE INDEX record_signed ON record (id) WHERE signature <> '';
CREATE TABLE chain (
    writer    TEXT PRIMARY KEY,
    sequence  INTEGER NOT NULL,      -- 0 where it was witnessed before it arrived
    digest    BLOB NOT NULL,
    witnessed INTEGER NOT NULL       -- the last sequence that an `opened` record named
) STRICT, WITHOUT ROWID;
CREATE TABLE legal_hold (
    ticket TEXT PRIMARY KEY,
    since  INTEGER NOT NULL,
    by     TEXT NOT NULL,
    why    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE dictionary (
    bytes BLOB NOT NULL              -- what bodies are deflated with
) STRICT;
"""

# The findings' history. A lookup is by what is open, or by when it was gone.
_HISTORY: Final = """
CREATE TABLE episode (
    id            INTEGER PRIMARY KEY,
    cluster       TEXT NOT NULL,
    first_seen    INTEGER NOT NULL,  -- microseconds since 1970
    last_seen     INTEGER NOT NULL,
    gone          INTEGER,           -- none while it is open
    changes       INTEGER NOT NULL,
    source        TEXT NOT NULL,
    "group"       TEXT NOT NULL,
    version       TEXT NOT NULL,
    kind          TEXT NOT NULL,
    namespace     TEXT NOT NULL,
    name          TEXT NOT NULL,
    uid           TEXT NOT NULL,
    field         TEXT NOT NULL,
    declared      TEXT NOT NULL,
    live          TEXT NOT NULL,
    class         TEXT NOT NULL,
    cause         TEXT NOT NULL,
    response      TEXT NOT NULL,
    reason        TEXT NOT NULL,
    revision      TEXT NOT NULL,
    engine        TEXT NOT NULL,
    app           TEXT NOT NULL,
    app_namespace TEXT NOT NULL,
    team          TEXT NOT NULL,
    state         TEXT NOT NULL,
    record        TEXT NOT NULL,
    actor         TEXT NOT NULL,
    ticket        TEXT NOT NULL,
    confidence    TEXT NOT NULL,
    why           TEXT NOT NULL
) STRICT;
CREATE INDEX episode_open ON episode (cluster) WHERE gone IS NULL;
CREATE INDEX episode_gone ON episode (gone) WHERE gone IS NOT NULL;
CREATE TABLE episode_value (
    episode  INTEGER NOT NULL,
    seen     INTEGER NOT NULL,
    declared TEXT NOT NULL,
    live     TEXT NOT NULL,
    PRIMARY KEY (episode, seen)
) STRICT, WITHOUT ROWID;
CREATE TABLE term (
    cluster TEXT PRIMARY KEY,
    number  INTEGER NOT NULL,        -- who writes the history must know it
    holder  TEXT NOT NULL,
    since   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

# An actor that is denied often also writes often: the denials are far apart in `record_actor`.
_DENIED: Final = """
CREATE INDEX record_denied_actor ON record (actor) WHERE verdict = 'deny';
"""

STEPS: Final = (_RECORDS, _HISTORY, _DENIED)
"""A step that was released is never edited; add another."""
VERSION: Final = len(STEPS)


def is_blank(connection: sqlite3.Connection) -> bool:
    """Return whether nothing was ever stored in the file."""
    [tables] = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return not tables and mark_of(connection) == (0, 0)


def is_older(connection: sqlite3.Connection) -> bool:
    """Return whether the file is a ledger that lacks the last steps."""
    application, version = mark_of(connection)
    return application == APPLICATION and 0 < version < VERSION


def migrate(connection: sqlite3.Connection) -> None:
    """Take the steps that the file lacks, unless another process just did."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if is_blank(connection) or is_older(connection):
            _take_steps(connection, mark_of(connection)[1])
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _take_steps(connection: sqlite3.Connection, taken: int) -> None:
    for step in STEPS[taken:]:
        for statement in step.split(";\n"):
            connection.execute(statement)
    if not taken:
        connection.execute("INSERT INTO dictionary VALUES (?)", (DICTIONARY,))
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def mark_of(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return whose file it is, and the version of its tables."""
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def dictionary_of(session: Session) -> bytes:
    """Return what the file's bodies are deflated with."""
    found = session.query("SELECT bytes FROM dictionary")
    if not found:
        raise LedgerDamaged("the ledger's dictionary is missing; restore it from a copy")
    dictionary: bytes = found[0][0]
    return dictionary


PATIENCE: Final = 5.0
"""Seconds that a process waits for another's commit before it gives up."""

CHECKPOINT_PAGES: Final = 256
"""Pages in the write-ahead log after which a commit also carries them over into the file.

A quarter of SQLite's own choice: it is done four times as often, and each time holds an answer up
for a quarter as long; altogether it costs the same.
"""

BULK_CHECKPOINT_PAGES: Final = 4096
"""The same for bulk writes, of which each commit would carry everything over."""

BULK_CACHE_BYTES: Final = 16 * 2**20
"""What such a commit touches; with SQLite's own 2 MB it is written twice, and read in between."""


def open_sqlite(
    path: Path, *, create: bool = True, patience: float = PATIENCE, in_bulk: bool = False
) -> SqliteLedger:
    """Open the ledger at *path*; where there is none, make it, or raise `LedgerMissing`.

    *in_bulk* is for storing very many records, where no response waits for a commit.
    """
    with ExitStack() as stack:
        session = open_session(path, create=create, patience=patience)
        stack.callback(session.close)
        if in_bulk:
            tune_for_bulk(session.connection)
        ledger = SqliteLedger(session, Bodies(dictionary_of(session)))
        stack.pop_all()
        return ledger


def migrate_sqlite(path: Path) -> list[str]:
    """Make the file, or the tables that it lacks; return what was done, in sentences."""
    try:
        open_session(path, create=False).close()
    except LedgerMissing:
        done = f"made {path}"
    except MigrationNeeded:
        done = f"migrated {path} to version {VERSION}"
    else:
        return []
    open_session(path).close()
    return [done]


def open_session(path: Path, *, create: bool = True, patience: float = PATIENCE) -> Session:
    """Return a session on the ledger's file at *path*, created or migrated if *create*."""
    try:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif not path.exists():
            raise LedgerMissing(f"there is no ledger at {path}")
        return _open_file(path, create, patience)
    except (OSError, TurnTimeout) as error:
        raise LedgerUnavailable(f"the ledger {path} cannot be opened: {error}") from error
    except sqlite3.Error as error:
        raise failure_of(path, "opened", error) from error


def _open_file(path: Path, create: bool, patience: float) -> Session:  # noqa: FBT001
    with ExitStack() as stack:
        turns = stack.enter_context(closing(Turns(path, patience)))
        connection = stack.enter_context(
            closing(sqlite3.connect(_uri_of(path, create=create), uri=True, isolation_level=None))
        )
        _set_pragmas(connection, patience)
        if create and (is_blank(connection) or is_older(connection)):
            with turns.take_turn():
                connection.execute("PRAGMA journal_mode = WAL")
                migrate(connection)
        _check(connection, path)
        stack.pop_all()
        return Session(connection, path, turns)


def _uri_of(path: Path, *, create: bool) -> str:
    """Return how SQLite is to open *path*."""
    beside = [path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm")]
    if not create and not os.access(path.parent, os.W_OK) and not any(map(Path.exists, beside)):
        # A whole copy on a read-only volume: there is no log to read, and none can be made.
        return f"file:{quote(str(path))}?immutable=1"
    return f"file:{quote(str(path))}?mode={'rwc' if create else 'rw'}"


def _set_pragmas(connection: sqlite3.Connection, patience: float) -> None:
    # Our own processes queue in `turns`; this is for other programs that write to the file.
    connection.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}")
    # FULL: the log is synced at each commit, so a record outlives a power cut.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")


def tune_for_bulk(connection: sqlite3.Connection) -> None:
    """Tune *connection* for very many records at once; each commit is still synced."""
    connection.execute(f"PRAGMA wal_autocheckpoint = {BULK_CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA cache_size = -{BULK_CACHE_BYTES // 1024}")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise unless the file is a ledger that this version can work with."""
    application, version = mark_of(connection)
    if application != APPLICATION:
        raise LedgerMissing(f"{path} is not a ledger")
    if version > VERSION:
        raise LaterTables(
            f"the ledger {path} has tables of version {version}, which this program, of"
            f" {VERSION}, does not know; run a later glasswarden"
        )
    if version != VERSION:
        raise MigrationNeeded(
            f"the ledger {path} has tables of version {version}, this program of {VERSION};"
            " run: glasswarden ledger migrate"
        )
