"""The history of findings in the file of a SQLite ledger."""

import sqlite3
from datetime import datetime
from pathlib import Path
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
from glasswarden.ledger.sqlite.file import open_session
from glasswarden.ledger.sqlite.storage import microseconds_of, moment_of

_MARKS: Final = ", ".join("?" * len(COLUMNS))
_LEAD: Final = """
    INSERT INTO term (cluster, number, holder, since) VALUES (?, 1, ?, ?)
    ON CONFLICT (cluster) DO UPDATE
    SET number = number + 1, holder = excluded.holder, since = excluded.since
    RETURNING number
"""
_OPEN: Final = (
    f"INSERT INTO episode (cluster, first_seen, last_seen, changes, {OBSERVED_COLUMNS})"  # noqa: S608
    f" VALUES (?, ?, ?, 0, {_MARKS}) RETURNING id"
)
_UPDATE: Final = (
    f"UPDATE episode SET last_seen = ?, changes = changes + ?, ({OBSERVED_COLUMNS}) = ({_MARKS})"  # noqa: S608
    " WHERE id = ?"
)
_VALUE: Final = "INSERT OR REPLACE INTO episode_value VALUES (?, ?, ?, ?)"
_FEWER_VALUES: Final = """
    DELETE FROM episode_value WHERE episode = ?1 AND seen < (
        SELECT seen FROM episode_value WHERE episode = ?1 ORDER BY seen DESC LIMIT 1 OFFSET ?2
    )
"""
_FORGET: Final = """
    DELETE FROM episode WHERE cluster = ?1 AND gone IS NOT NULL AND (gone < ?2 OR id IN (
        SELECT id FROM episode WHERE cluster = ?1 AND gone IS NOT NULL
        ORDER BY gone DESC, id DESC LIMIT -1 OFFSET ?3
    )) RETURNING id
"""


class SqliteHistory:
    """Episodes in the file at *path*."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Open the file. Raises `LedgerError`."""
        self._session = open_session(path, create=create)

    def lead(self, cluster: str, holder: str, now: datetime) -> Term:
        """Take the right to write *cluster*'s history; whoever had it is deposed."""
        with self._session.transaction() as connection:
            values = cluster, holder, microseconds_of(now)
            [number] = connection.execute(_LEAD, values).fetchone()
        return Term(cluster, number)

    def store(self, term: Term, changes: Changes, now: datetime) -> None:
        """Store what a pass at *now* saw, all or nothing; raises `LeadershipLost`."""
        moment = microseconds_of(now)
        with self._session.transaction() as connection:
            _check(connection, term)
            for observed in changes.opened:
                _open(connection, term.cluster, observed, moment)
            for episode, observed in changes.updated:
                _update(connection, episode, observed, moment)
            connection.executemany(
                "UPDATE episode SET last_seen = ? WHERE id = ?",
                [(moment, each.id) for each in changes.unchanged],
            )
            connection.executemany(
                "UPDATE episode SET gone = ? WHERE id = ?",
                [(moment, each.id) for each in changes.gone],
            )

    def open(self, cluster: str) -> list[Episode]:
        """Return the open episodes, oldest first."""
        return self._query_episodes("cluster = ? AND gone IS NULL", cluster)

    def episodes(self, since: datetime, cluster: str = "") -> list[Episode]:
        """Return the episodes that were open at *since* or later, oldest first."""
        test = "(gone IS NULL OR gone >= ?) AND ? IN ('', cluster)"
        return self._query_episodes(test, microseconds_of(since), cluster)

    def values(self, episode: int) -> list[Value]:
        """Return an episode's values, oldest first; of very many only the last."""
        found = self._session.query(
            "SELECT seen, declared, live FROM episode_value WHERE episode = ? ORDER BY seen",
            episode,
        )
        return [Value(moment_of(seen), declared, live) for seen, declared, live in found]

    def forget(self, term: Term, before: datetime, most: int) -> int:
        """Drop what was gone *before*, and the oldest of more than *most* that are gone."""
        with self._session.transaction() as connection:
            _check(connection, term)
            values = term.cluster, microseconds_of(before), most
            forgotten = connection.execute(_FORGET, values).fetchall()
            connection.executemany("DELETE FROM episode_value WHERE episode = ?", forgotten)
        return len(forgotten)

    def close(self) -> None:
        """Close the file."""
        self._session.close()

    def _query_episodes(self, test: str, *values: object) -> list[Episode]:
        found = self._session.query(
            f"SELECT {EPISODE} FROM episode WHERE {test} ORDER BY first_seen, id",  # noqa: S608
            *values,
        )
        return [_episode_of(row) for row in found]


def _check(connection: sqlite3.Connection, term: Term) -> None:
    found = connection.execute("SELECT number FROM term WHERE cluster = ?", (term.cluster,))
    if found.fetchone() != (term.number,):
        raise LeadershipLost(f"another correlator of {term.cluster} leads by now")


def _open(
    connection: sqlite3.Connection, cluster: str, observed: ObservedFinding, moment: int
) -> None:
    [episode] = connection.execute(_OPEN, (cluster, moment, moment, *row_of(observed))).fetchone()
    connection.execute(_VALUE, (episode, moment, *observed.values))


def _update(
    connection: sqlite3.Connection, episode: Episode, observed: ObservedFinding, moment: int
) -> None:
    changed = observed.values != episode.last.values
    connection.execute(_UPDATE, (moment, changed, *row_of(observed), episode.id))
    if changed:
        connection.execute(_VALUE, (episode.id, moment, *observed.values))
        connection.execute(_FEWER_VALUES, (episode.id, MOST_VALUES - 1))


def _episode_of(row: Any) -> Episode:  # noqa: ANN401 - as sqlite3 gives it
    number, cluster, first_seen, last_seen, gone, changes, *cells = row
    return Episode(
        number,
        cluster,
        observed_of(cells),
        moment_of(first_seen),
        moment_of(last_seen),
        None if gone is None else moment_of(gone),
        changes,
    )
