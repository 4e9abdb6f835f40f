"""The tables of a ledger's file, and how a file is known to be one."""

import sqlite3
from typing import Final

from glasswarden.ledger.bodies import DICTIONARY
from glasswarden.ledger.errors import LedgerDamaged

VERSION: Final = 1
APPLICATION: Final = int.from_bytes(b"GLWD", "big")
"""Marks the file as ours: https://www.sqlite.org/pragma.html#pragma_application_id."""

# Questions are answered newest first, so every index goes on with `id`, which a table WITHOUT ROWID
# appends by itself: what is asked for is walked backwards, and nothing has to be sorted.
TABLES: Final = """
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


def is_blank(connection: sqlite3.Connection) -> bool:
    """Tell whether nothing was ever stored in the file."""
    [tables] = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return not tables and mark_of(connection) == (0, 0)


def create(connection: sqlite3.Connection) -> None:
    """Make the tables, unless another process just did."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if is_blank(connection):
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute("INSERT INTO dictionary VALUES (?)", (DICTIONARY,))
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def mark_of(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return whose file it is, and the version of its tables."""
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def dictionary_of(connection: sqlite3.Connection) -> bytes:
    """Return what the file's bodies are deflated with."""
    found = connection.execute("SELECT bytes FROM dictionary").fetchone()
    if found is None:
        raise LedgerDamaged("the ledger's dictionary is gone; restore it from a copy")
    dictionary: bytes = found[0]
    return dictionary
