"""The tables in PostgreSQL as numbered migrations, and the check of their version.

A migration that was released is never edited; add another.
"""

from dataclasses import dataclass
from typing import Final

from psycopg import errors
from psycopg.abc import Query

from glasswarden import __version__
from glasswarden.ledger.compression import DICTIONARY
from glasswarden.ledger.errors import LaterTables, MigrationNeeded
from glasswarden.ledger.postgres.session import Connection, Session, parameters_of

SCHEMA: Final = "glasswarden"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step."""

    number: int
    summary: str
    sql: str


_FIRST: Final = f"""
CREATE TABLE glasswarden.dictionary (words bytea NOT NULL);  -- what bodies are deflated with
INSERT INTO glasswarden.dictionary VALUES ('\\x{DICTIONARY.hex()}');

CREATE TABLE glasswarden.record (
    sequence      int8 NOT NULL,
    time          timestamptz NOT NULL,
    grant_expires timestamptz,
    id            uuid PRIMARY KEY,
    type          text COLLATE "C" NOT NULL,
    cluster       text COLLATE "C" NOT NULL,
    writer        text COLLATE "C" NOT NULL,
    verdict       text COLLATE "C" NOT NULL,
    actor         text COLLATE "C" NOT NULL,
    "group"       text COLLATE "C" NOT NULL,
    kind          text COLLATE "C" NOT NULL,
    namespace     text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    engine        text COLLATE "C" NOT NULL,
    app           text COLLATE "C" NOT NULL,
    app_namespace text COLLATE "C" NOT NULL,
    ticket        text COLLATE "C" NOT NULL,
    "grant"       text COLLATE "C" NOT NULL,
    grant_act     text COLLATE "C" NOT NULL,
    signature     text COLLATE "C" NOT NULL,
    digest        bytea NOT NULL,
    fields        text[] COLLATE "C" NOT NULL,
    field_keys    int4[] NOT NULL,  -- hashes of the fields' paths and of all that stands above them
    body          bytea NOT NULL  -- deflated
) PARTITION BY RANGE (id);

-- Each ends with the id: newest first is a walk backwards, partition by partition.
CREATE INDEX record_object ON glasswarden.record (namespace, name, id) WHERE type = 'attempt';
CREATE INDEX record_actor ON glasswarden.record (actor, id) WHERE actor <> '';
CREATE INDEX record_app ON glasswarden.record (app, id) WHERE app <> '';
CREATE INDEX record_ticket ON glasswarden.record (ticket, id) WHERE ticket <> '';
CREATE INDEX record_grant ON glasswarden.record ("grant", id) WHERE "grant" <> '';
CREATE INDEX record_denied ON glasswarden.record (id) WHERE verdict = 'deny';
CREATE INDEX record_signed ON glasswarden.record (id) WHERE signature <> '';
CREATE INDEX record_granted ON glasswarden.record (id) WHERE "grant" <> '';
CREATE INDEX record_open ON glasswarden.record (grant_expires)
    WHERE grant_act IN ('issued', 'approved', 'extended');
-- Not unique: that would have to hold the id. The chain's row keeps a place from being taken twice.
-- A writer's name is as long as a pod's; its hash is enough to find it.
CREATE INDEX record_place ON glasswarden.record (hashtextextended(writer, 0), sequence);
-- Without the id they shrink to a few bytes a record: for values so rare that sorting is cheap.
CREATE INDEX record_writer ON glasswarden.record (writer);
CREATE INDEX record_kind ON glasswarden.record (kind);
CREATE INDEX record_cluster ON glasswarden.record (cluster);
-- A short pending list: some hundred records are sorted in together, in a few milliseconds.
CREATE INDEX record_field ON glasswarden.record USING gin (field_keys)
    WITH (gin_pending_list_limit = 256);

-- A name is at home in one namespace or a few; taken for independent, a busy object looks idle.
CREATE STATISTICS glasswarden.record_objects (mcv) ON namespace, name FROM glasswarden.record;

CREATE TABLE glasswarden.chain (
    writer    text COLLATE "C" PRIMARY KEY,
    sequence  int8 NOT NULL,
    witnessed int8 NOT NULL DEFAULT 0,  -- the last sequence that an `opened` record named
    digest    bytea NOT NULL
) WITH (fillfactor = 50);  -- updated at every commit, in place

CREATE TABLE glasswarden.legal_hold (
    ticket text COLLATE "C" PRIMARY KEY,
    since  timestamptz NOT NULL,
    by     text NOT NULL,
    why    text NOT NULL
);

CREATE FUNCTION glasswarden.first_id(moment timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT rpad(lpad(to_hex((extract(epoch FROM moment) * 1000)::int8), 12, '0'), 32, '0')::uuid
$$;

CREATE FUNCTION glasswarden.moment_of(id uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT to_timestamp(
        ('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::int8 / 1000.0
    )
$$;

-- Runs with its owner's rights: who appends needs a partition now and then, but may not own one.
CREATE FUNCTION glasswarden.make_month(moment timestamptz) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC' AS $$
DECLARE
    month timestamptz := date_trunc('month', moment);
    partition text := 'record_' || to_char(month, 'YYYY_MM');
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('glasswarden.make_month', 0));
    IF to_regclass('glasswarden.' || partition) IS NOT NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format(
        'CREATE TABLE glasswarden.%I (LIKE glasswarden.record INCLUDING STATISTICS)', partition
    );
    -- Unlike CREATE TABLE ... PARTITION OF, this lets others read and append meanwhile.
    EXECUTE format(
        'ALTER TABLE glasswarden.record ATTACH PARTITION glasswarden.%I'
        ' FOR VALUES FROM (%L) TO (%L)',
        partition, glasswarden.first_id(month), glasswarden.first_id(month + interval '1 month')
    );
    RETURN partition;
END $$;
REVOKE EXECUTE ON FUNCTION glasswarden.make_month FROM PUBLIC;
"""  # noqa: S608 - our own words

_HISTORY: Final = """
CREATE TABLE glasswarden.episode (
    id            int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster       text COLLATE "C" NOT NULL,
    first_seen    timestamptz NOT NULL,
    last_seen     timestamptz NOT NULL,
    gone          timestamptz,  -- none while it is open
    changes       int4 NOT NULL DEFAULT 0,
    source        text NOT NULL,
    "group"       text NOT NULL,
    version       text NOT NULL,
    kind          text NOT NULL,
    namespace     text NOT NULL,
    name          text NOT NULL,
    uid           text NOT NULL,
    field         text NOT NULL,
    declared      text NOT NULL,
    live          text NOT NULL,
    class         text NOT NULL,
    cause         text NOT NULL,
    response      text NOT NULL,
    reason        text NOT NULL,
    revision      text NOT NULL,
    engine        text NOT NULL,
    app           text NOT NULL,
    app_namespace text NOT NULL,
    team          text NOT NULL,
    state         text NOT NULL,
    record        text NOT NULL,
    actor         text NOT NULL,
    ticket        text NOT NULL,
    confidence    text NOT NULL,
    why           text NOT NULL
) WITH (fillfactor = 80);  -- what is open is updated at every pass, in place
CREATE INDEX episode_open ON glasswarden.episode (cluster) WHERE gone IS NULL;
CREATE INDEX episode_gone ON glasswarden.episode (gone) WHERE gone IS NOT NULL;

CREATE TABLE glasswarden.episode_value (
    episode  int8 REFERENCES glasswarden.episode ON DELETE CASCADE,
    seen     timestamptz,
    declared text NOT NULL,
    live     text NOT NULL,
    PRIMARY KEY (episode, seen)
);

CREATE TABLE glasswarden.term (
    cluster text COLLATE "C" PRIMARY KEY,
    number  int8 NOT NULL,  -- who writes the history must know it
    holder  text NOT NULL,
    since   timestamptz NOT NULL
);
"""

# Whoever is denied often also writes often: their denials are far apart in `record_actor`.
_DENIED: Final = """
CREATE INDEX record_denied_actor ON glasswarden.record (actor, id) WHERE verdict = 'deny';
"""

MIGRATIONS: Final = (
    Migration(1, "records in monthly partitions, chains, legal holds", _FIRST),
    Migration(2, "the history of findings", _HISTORY),
    Migration(3, "an index of what each person was denied", _DENIED),
)


VERSION: Final = MIGRATIONS[-1].number

MONTHS_AHEAD: Final = 3

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('glasswarden.migrate', 0))"
_BEGINNING: Final = """
    CREATE SCHEMA IF NOT EXISTS glasswarden;
    CREATE TABLE IF NOT EXISTS glasswarden.migration (
        number  int4 PRIMARY KEY,
        applied timestamptz NOT NULL DEFAULT now(),
        program text NOT NULL
    )
"""
_VERSION: Final = "SELECT coalesce(max(number), 0) FROM glasswarden.migration"
_AHEAD: Final = """
    SELECT glasswarden.make_month(now() + ahead * interval '1 month')
    FROM generate_series(0, %s) AS ahead
"""


def migrate(address: str) -> list[str]:
    """Do what is missing in the database at *address*, all or nothing; return what was done."""
    session = Session(parameters_of(address))
    try:
        return session.run(_migrate, "migrated")
    finally:
        session.close()


def _migrate(connection: Connection) -> list[str]:
    connection.patience = None
    with connection.transaction():
        # An index on a large table takes its time, and so does whoever migrates beside us.
        connection.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
        connection.execute(_LOCK)
        if _has_tables(connection):
            _check_known(_read_version(connection))
        else:
            connection.execute(_BEGINNING)
        applied = [
            _apply(connection, step.number, step.summary, step.sql.encode())
            for step in MIGRATIONS
            if step.number > _read_version(connection)
        ]
        made = connection.execute(_AHEAD, [MONTHS_AHEAD]).fetchall()
    return applied + [f"made the partition {name}" for (name,) in made if name]


def _has_tables(connection: Connection) -> bool:
    [found] = connection.execute("SELECT to_regclass('glasswarden.migration')").fetchone() or [None]
    return found is not None


def _read_version(connection: Connection) -> int:
    [version] = connection.execute(_VERSION).fetchone() or [0]
    return int(version)


def _apply(connection: Connection, number: int, summary: str, sql: Query) -> str:
    connection.execute(sql)
    connection.execute(
        "INSERT INTO glasswarden.migration (number, program) VALUES (%s, %s)",
        [number, f"glasswarden {__version__}"],
    )
    return f"applied {number}: {summary}"


def check_version(connection: Connection) -> None:
    """Raise `MigrationNeeded` where the tables are not those of this program."""
    try:
        version = _read_version(connection)
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise MigrationNeeded(
            "the database holds no ledger yet; run: glasswarden ledger migrate"
        ) from error
    _check_known(version)
    if version < VERSION:
        raise MigrationNeeded(
            f"the ledger has tables of version {version}, this program of {VERSION};"
            " run: glasswarden ledger migrate"
        )


def dictionary_of(connection: Connection) -> bytes:
    """Return what the bodies in this database are deflated with."""
    [words] = connection.execute("SELECT words FROM glasswarden.dictionary").fetchone() or [b""]
    return bytes(words)


def _check_known(version: int) -> None:
    if version > VERSION:
        raise LaterTables(
            f"the ledger has tables of version {version}, which this program, of {VERSION},"
            " does not know; run a later glasswarden"
        )
