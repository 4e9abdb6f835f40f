"""Millions of records in PostgreSQL, made by the server itself, month by month, within a time.

Each month is filled before its indexes are made, in a transaction that writes no log: that is all
that is different from records that were appended one by one. The server cannot deflate: bodies are
stored as they are, in deflate's own frame for that, so pages hold fewer of them than they would.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import psycopg

from glasswarden.ledger.postgres.storage import keys_of

YEAR: Final = 2025
MONTHS: Final = 12
OBJECTS: Final = 20_000
PEOPLE: Final = 1_500
APPS: Final = 800
CLUSTERS: Final = 5
NAMESPACES: Final = 200
A_TICKET: Final = 500
"""Records of the time that one ticket is about."""

PATHS: Final = (
    "/spec/template/spec/containers[name=app]/image",
    "/spec/replicas",
    "/spec/template/spec/containers[name=app]/resources/limits/memory",
    "/spec/template/spec/containers[name=app]/env[name=LOG_LEVEL]/value",
    "/data/config.yaml",
    "/metadata/annotations/example.com~1paused",
    "/spec/ports[port=80,protocol=TCP]/targetPort",
    "/spec/suspend",
)
"""The first ones are changed most often."""

OPTIONS: Final = (
    "-clisten_addresses=",
    "-cfsync=off",
    "-cwal_level=minimal",
    "-cmax_wal_senders=0",
    "-cshared_buffers=1GB",
    "-cmaintenance_work_mem=512MB",
    "-cautovacuum=off",
)
"""A server that fills tables fast; for questions it makes no difference."""

_FILL: Final = """
INSERT INTO glasswarden.{month}
SELECT
    number, time, CASE WHEN act = 'issued' THEN time + interval '1 hour' END, id,
    'attempt', cluster, writer, verdict, actor, 'apps', 'Deployment', namespace, name, 'flux', app,
    'flux-system', ticket, "grant", act, '', sha256(body), ARRAY[path], keys,
    set_byte(set_byte(set_byte(set_byte(
        '\\x0100000000', 1, length(body) & 255), 2, length(body) >> 8),
        3, 255 - (length(body) & 255)), 4, 255 - (length(body) >> 8)) || body
FROM (
    SELECT *, convert_to(format(
        '{{"actor":"%%s","app":"%%s","app_kind":"Kustomization","app_namespace":"flux-system",'
        '"changes":[{{"manager":"kubectl-edit","new":"registry.example.com/shop/app:1.4.3-hotfix",'
        '"old":"registry.example.com/shop/app:1.4.2","path":"%%s"}}],"clause":"guard",'
        '"cluster":"%%s","engine":"flux","fingerprint":"%%s","format":1,"generation":7,'
        '"group":"apps","groups":["developers","system:authenticated"],"id":"%%s",'
        '"inferred_verb":"edit","kind":"Deployment","manager":"kubectl-edit",'
        '"manager_operation":"Update","mode":"enforce","name":"%%s","namespace":"%%s",'
        '"operation":"UPDATE","policy":"%%s","prev":"%%s","resource":"deployments",'
        '"sequence":%%s,"time":"%%s","type":"attempt","verdict":"%%s","version":"v1",'
        '"writer":"%%s"}}',
        actor, app, path, cluster, left(hash, 16), id, name, namespace, hash || hash, hash || hash,
        number, to_char(time, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), verdict, writer
    ), 'UTF8') AS body
    FROM (
        SELECT
            number, time, hash, path, keys, verdict, act,
            (lpad(to_hex((extract(epoch FROM time) * 1000)::int8), 12, '0')
                || '7' || left(hash, 3) || 'a' || substr(hash, 4, 15))::uuid AS id,
            'prod-' || object %% {clusters} AS cluster,
            'glasswarden-webhook-6c8f9d7b5c-x2x7k-7-' || number %% 4 AS writer,
            'person-' || person || '@example.com' AS actor,
            'team-' || object %% {namespaces} AS namespace,
            'service-' || object AS name,
            'app-' || object %% {apps} AS app,
            CASE WHEN act <> '' THEN 'INC-' || number / {ticket} ELSE '' END AS ticket,
            CASE WHEN act <> '' THEN 'grant-' || number / {ticket} ELSE '' END AS "grant"
        FROM (
            SELECT
                number,
                %(start)s::timestamptz
                    + (number - %(first)s) * ((%(end)s::timestamptz - %(start)s) / %(count)s)
                    AS time,
                md5(number::text) AS hash,
                ({objects} * power(random(), 2))::int AS object,
                ({people} * power(random(), 2))::int AS person,
                1 + floor({paths} * power(random(), 3))::int AS field,
                CASE WHEN random() < 0.03 THEN 'deny' ELSE 'allow' END AS verdict,
                CASE number %% 500
                    WHEN 0 THEN 'issued' WHEN 100 THEN 'used' WHEN 200 THEN 'used'
                    WHEN 400 THEN 'closed' ELSE '' END AS act
            FROM generate_series(%(first)s::int8, %(first)s::int8 + %(count)s - 1) AS number
        ) AS dice
        JOIN paths ON paths.number_ = dice.field
    ) AS told
) AS written
"""


@dataclass(frozen=True, slots=True)
class Archive:
    """What was made."""

    records: int
    seconds: float
    end: datetime


def filled(url: str, records: int, seconds: float, say: Callable[[str], None]) -> Archive:
    """Fill a year with *records*, or the months that can be in *seconds*; two at a time."""
    start = time.monotonic()
    count = -(-records // MONTHS)  # none too few
    made = 0
    with ThreadPoolExecutor(2) as pool:
        for first in range(0, MONTHS, 2):
            months = range(first, min(first + 2, MONTHS))
            made += sum(pool.map(partial(_fill, url, count), months))
            took = time.monotonic() - start
            say(f"{made:,} records after {took:.0f} s")
            if took + took / (first // 2 + 1) > seconds:
                break
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE glasswarden.record")
    return Archive(made, time.monotonic() - start, _begin(made // count))


def _fill(url: str, count: int, month: int) -> int:
    name = f"record_{YEAR}_{month + 1:02}"
    begin, end = _begin(month), _begin(month + 1)
    values: dict[str, Any] = {
        "start": begin, "end": end, "first": month * count + 1, "count": count,
    }  # fmt: skip
    sizes = {"objects": OBJECTS, "people": PEOPLE, "apps": APPS, "clusters": CLUSTERS}
    sizes |= {"namespaces": NAMESPACES, "ticket": A_TICKET}
    fill = _FILL.format(month=name, paths=len(PATHS), **sizes)
    with psycopg.connect(url) as connection:
        connection.execute("SET timezone = 'UTC'; SET synchronous_commit = off; SET jit = off")
        connection.execute(f"SELECT setseed(0.{month + 1:02})".encode())
        _paths(connection)
        connection.execute(
            f"CREATE TABLE glasswarden.{name}"
            " (LIKE glasswarden.record INCLUDING STATISTICS)".encode()
        )
        connection.execute(fill.encode(), values)
        # Both at once would wait for each other's locks until the end anyway.
        connection.execute(
            f"ALTER TABLE glasswarden.record ATTACH PARTITION glasswarden.{name} FOR VALUES FROM"
            f" (glasswarden.first_id('{begin}')) TO (glasswarden.first_id('{end}'))".encode()
        )
    return count


def _paths(connection: psycopg.Connection[Any]) -> None:
    connection.execute("CREATE TEMP TABLE paths (number_ int, path text, keys int4[])")
    for number, path in enumerate(PATHS, start=1):
        connection.execute(
            "INSERT INTO paths VALUES (%s, %s, %s)", [number, path, keys_of((path,))]
        )


def _begin(month: int) -> datetime:
    return datetime(YEAR + month // 12, month % 12 + 1, 1, tzinfo=UTC)
