"""The tables, as numbered steps. A step that was released is never edited; add another."""

from dataclasses import dataclass
from typing import Final

SCHEMA: Final = "glasswarden"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step."""

    number: int
    summary: str
    sql: str


_FIRST: Final = """
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
    body          bytea NOT NULL
) PARTITION BY RANGE (id);

-- Each ends with the id: newest first is a walk backwards, partition by partition.
CREATE INDEX record_object ON glasswarden.record (namespace, name, id) WHERE type = 'attempt';
CREATE INDEX record_actor ON glasswarden.record (actor, id) WHERE actor <> '';
CREATE INDEX record_app ON glasswarden.record (app, id) WHERE app <> '';
CREATE INDEX record_ticket ON glasswarden.record (ticket, id) WHERE ticket <> '';
CREATE INDEX record_grant ON glasswarden.record ("grant", id) WHERE "grant" <> '';
CREATE INDEX record_denied ON glasswarden.record (id) WHERE verdict = 'deny';
CREATE INDEX record_signed ON glasswarden.record (id) WHERE signature <> '';
CREATE INDEX record_open ON glasswarden.record (grant_expires)
    WHERE grant_act IN ('issued', 'extended');
-- Without the id they shrink to a few bytes a record: for values so rare that sorting is cheap.
CREATE INDEX record_kind ON glasswarden.record (kind);
CREATE INDEX record_cluster ON glasswarden.record (cluster);
-- No pending list: nobody's write should pay for the tidying up of thousands.
CREATE INDEX record_field ON glasswarden.record USING gin (field_keys) WITH (fastupdate = off);

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
    EXECUTE format('CREATE TABLE glasswarden.%I (LIKE glasswarden.record)', partition);
    -- The key of a partitioned table must hold the id. Across months the chain's row keeps watch.
    EXECUTE format(
        'CREATE UNIQUE INDEX %I ON glasswarden.%I (writer, sequence)',
        partition || '_place', partition
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
"""

MIGRATIONS: Final = (Migration(1, "records in monthly partitions, chains, legal holds", _FIRST),)
