"""The tables of a ledger's file, and how a file is known to be one."""

import sqlite3
from typing import Final

from glasswarden.ledger.bodies import DICTIONARY
from glasswarden.ledger.errors import LedgerDamaged
from glasswarden.ledger.sqlite.session import Session

APPLICATION: Final = int.from_bytes(b"GLWD", "big")
"""Marks the file as ours: https://www.sqlite.org/pragma.html#pragma_application_id."""

# Questions are answered newest first, so every index goes on with `id`, which a table WITHOUT ROWID
# appends by itself: what is asked for is walked backwards, and nothing has to be sorted.
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

# Whoever is denied often also writes often: their refusals lie far apart in `record_actor`.
_DENIED: Final = """
CREATE INDEX record_denied_actor ON record (actor) WHERE verdict = 'deny';
"""

STEPS: Final = (_RECORDS, _HISTORY, _DENIED)
"""A step that was released is never edited; add another."""
VERSION: Final = len(STEPS)


def is_blank(connection: sqlite3.Connection) -> bool:
    """Tell whether nothing was ever stored in the file."""
    [tables] = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return not tables and mark_of(connection) == (0, 0)


def is_older(connection: sqlite3.Connection) -> bool:
    """Tell whether the file is a ledger that lacks the last steps."""
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
        raise LedgerDamaged("the ledger's dictionary is gone; restore it from a copy")
    dictionary: bytes = found[0][0]
    return dictionary
