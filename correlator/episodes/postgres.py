"""The history of findings in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from correlator.episodes.columns import EPISODE, MOST_VALUES, OBSERVED_COLUMNS, observed_of, row_of
from correlator.episodes.episode import (
    COLUMNS,
    Changes,
    Episode,
    LeadershipLost,
    ObservedFinding,
    Term,
    Value,
)
from glasswarden.ledger.postgres.schema import check_version
from glasswarden.ledger.postgres.session import Connection, Session, parameters_of

_MARKS: Final = ", ".join(["%s"] * len(COLUMNS))
_LEAD: Final = """
    INSERT INTO glasswarden.term AS known (cluster, number, holder, since)
    VALUES (%s, 1, %s, %s)
    ON CONFLICT (cluster) DO UPDATE
    SET number = known.number + 1, holder = excluded.holder, since = excluded.since
    RETURNING number
"""
# With the row locked, nobody can take over until what is stored is there.
_TERM: Final = "SELECT number FROM glasswarden.term WHERE cluster = %s FOR UPDATE"
_OPEN: Final = f"""
    WITH opened AS (
        INSERT INTO glasswarden.episode (cluster, first_seen, last_seen, {OBSERVED_COLUMNS})
        VALUES (%s, %s, %s, {_MARKS}) RETURNING id, first_seen, declared, live
    )
    INSERT INTO glasswarden.episode_value SELECT id, first_seen, declared, live FROM opened
"""  # noqa: S608 - names of columns
_UPDATE: Final = (
    "UPDATE glasswarden.episode SET last_seen = %s, changes = changes + %s,"  # noqa: S608
    f" ({OBSERVED_COLUMNS}) = ({_MARKS}) WHERE id = %s"
)
_VALUE: Final = """
    INSERT INTO glasswarden.episode_value (episode, seen, declared, live)
    VALUES (%s, %s, %s, %s)
    ON CONFLICT (episode, seen) DO UPDATE
    SET declared = excluded.declared, live = excluded.live
"""
_FEWER_VALUES: Final = """
    DELETE FROM glasswarden.episode_value WHERE episode = %(episode)s AND seen < (
        SELECT seen FROM glasswarden.episode_value WHERE episode = %(episode)s
        ORDER BY seen DESC OFFSET %(kept)s LIMIT 1
    )
"""
_FORGET: Final = """
    DELETE FROM glasswarden.episode
    WHERE cluster = %(cluster)s AND gone IS NOT NULL AND (gone < %(before)s OR id IN (
        SELECT id FROM glasswarden.episode WHERE cluster = %(cluster)s AND gone IS NOT NULL
        ORDER BY gone DESC, id DESC OFFSET %(most)s
    ))
"""


class PostgresHistory:
    """Episodes in the database at *address*."""

    def __init__(self, address: str) -> None:
        """Open the database. Raises `LedgerError`."""
        self._session = Session(parameters_of(address))
        try:
            self._session.run(check_version, "opened")
        except BaseException:
            self._session.close()
            raise

    def lead(self, cluster: str, holder: str, now: datetime) -> Term:
        """Take the right to write *cluster*'s history; whoever had it is deposed."""
        found = self._session.run(
            lambda connection: connection.execute(_LEAD, [cluster, holder, now]).fetchone(),
            "written",
        )
        [number] = found or [0]
        return Term(cluster, number)

    def store(self, term: Term, changes: Changes, now: datetime) -> None:
        """Store what a pass at *now* saw, all or nothing; raises `LeadershipLost`."""
        self._session.run(partial(_store, term=term, changes=changes, now=now), "written")

    def open(self, cluster: str) -> list[Episode]:
        """Return the open episodes, oldest first."""
        return self._query_episodes("cluster = %s AND gone IS NULL", [cluster])

    def episodes(self, since: datetime, cluster: str = "") -> list[Episode]:
        """Return the episodes that were open at *since* or later, oldest first."""
        test = "(gone IS NULL OR gone >= %s) AND %s::text IN ('', cluster)"
        return self._query_episodes(test, [since, cluster])

    def values(self, episode: int) -> list[Value]:
        """Return an episode's values, oldest first; of very many only the last."""
        found = self._query(
            "SELECT seen, declared, live FROM glasswarden.episode_value"
            " WHERE episode = %s ORDER BY seen",
            [episode],
        )
        return [Value(*row) for row in found]

    def forget(self, term: Term, before: datetime, most: int) -> int:
        """Drop what was gone *before*, and the oldest of more than *most* that are gone."""
        return self._session.run(partial(_forget, term=term, before=before, most=most), "pruned")

    def close(self) -> None:
        """Give the connection back."""
        self._session.close()

    def _query_episodes(self, test: str, values: Sequence[Any]) -> list[Episode]:
        found = self._query(
            f"SELECT {EPISODE} FROM glasswarden.episode WHERE {test}"  # noqa: S608
            " ORDER BY first_seen, id",
            values,
        )
        return [
            Episode(number, cluster, observed_of(cells), first, last, gone, changes)
            for number, cluster, first, last, gone, changes, *cells in found
        ]

    def _query(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._session.run(
            lambda connection: connection.execute(
                statement.encode(), values, binary=True
            ).fetchall()
        )


def _store(connection: Connection, term: Term, changes: Changes, now: datetime) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        _check(connection, term)
        cursor.executemany(
            _OPEN.encode(), [[term.cluster, now, now, *row_of(each)] for each in changes.opened]
        )
        for episode, observed in changes.updated:
            _update(connection, episode, observed, now)
        for column, them in (("last_seen", changes.unchanged), ("gone", changes.gone)):
            connection.execute(
                f"UPDATE glasswarden.episode SET {column} = %s WHERE id = ANY(%s)".encode(),  # noqa: S608
                [now, [each.id for each in them]],
            )


def _check(connection: Connection, term: Term) -> None:
    if connection.execute(_TERM, [term.cluster]).fetchone() != (term.number,):
        raise LeadershipLost(f"another correlator of {term.cluster} leads by now")


def _update(
    connection: Connection, episode: Episode, observed: ObservedFinding, now: datetime
) -> None:
    changed = observed.values != episode.last.values
    connection.execute(_UPDATE.encode(), [now, int(changed), *row_of(observed), episode.id])
    if changed:
        connection.execute(_VALUE, [episode.id, now, *observed.values])
        values = {"episode": episode.id, "kept": MOST_VALUES - 1}
        connection.execute(_FEWER_VALUES, values)


def _forget(connection: Connection, term: Term, before: datetime, most: int) -> int:
    with connection.transaction():
        _check(connection, term)
        values = {"cluster": term.cluster, "before": before, "most": most}
        return connection.execute(_FORGET, values).rowcount
