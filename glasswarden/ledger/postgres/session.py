"""One connection that is made anew when it is lost, and never keeps its owner waiting for long.

Where the database is, and how long it may take: what libpq is told.
"""

import re
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict

from glasswarden.ledger.errors import AddressInvalid, LedgerUnavailable
from glasswarden.ledger.postgres import storage

STATEMENT_SECONDS: Final = 5
"""After that the server gives a statement up."""

SESSION: Final = {
    "default_transaction_isolation": r"read\ committed",
    # To scan an empty month is cheapest, but out of order: all other months would be sorted for it.
    "enable_seqscan": "off",
    "idle_in_transaction_session_timeout": "10s",
    "jit": "off",  # compiling takes longer than any of our statements
    "lock_timeout": "3s",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "timezone": "UTC",
}

DEFAULTS: Final = {
    "application_name": "glasswarden",
    "connect_timeout": "3",
    # A peer that is gone without a word is noticed within seconds, idle or not.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
    "tcp_user_timeout": "8000",
}
"""What the address may say otherwise."""

_UNAMBIGUOUS: Final = re.compile(r"\w+://([^@/?]*@)?[^@?]*(\?.*)?", re.DOTALL)
_PORTS: Final = re.compile(r"[\d,]*")


def parameters_of(address: str) -> dict[str, str]:
    """Return *address* as libpq's parameters; raise `AddressInvalid`, which tells no password."""
    try:
        told = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    except psycopg.Error:
        # Neither said nor chained: libpq quotes the address, and with it the password.
        raise AddressInvalid(
            "the address of the PostgreSQL ledger cannot be read;"
            " try postgresql://glasswarden@db/glasswarden"
        ) from None
    if not _UNAMBIGUOUS.fullmatch(address) or not _PORTS.fullmatch(told.get("port", "")):
        # Part of a password stands where host or port should; libpq would quote it later.
        raise AddressInvalid(
            "the address of the PostgreSQL ledger has a strange host or port:"
            " write @ : / in a password as %40 %3A %2F"
        )
    ours = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    return {**DEFAULTS, **told, "options": f"{ours} {told.get('options', '')}".rstrip()}


T = TypeVar("T")

PATIENCE: Final = STATEMENT_SECONDS + 2.0
"""Seconds for an answer. A server that works has given the statement up before."""

_SYNCED: Final = """
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
"""


class NoAnswer(psycopg.OperationalError):
    """The server holds the connection open and says nothing."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection on which no wait is endless, even where the server's process is frozen."""

    patience: float | None = PATIENCE

    def wait(self, gen: PQGen[T], *args: Any, **kwargs: Any) -> T:  # noqa: ANN401 - psycopg's own
        """Return what *gen* returns, or close the connection and raise `NoAnswer`."""
        if self.patience is None:
            return super().wait(gen, *args, **kwargs)
        return super().wait(self._bounded(gen, time.monotonic() + self.patience), *args, **kwargs)

    def _bounded(self, gen: PQGen[T], deadline: float) -> Generator[Any, Any, T]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > deadline:
                    self.pgconn.finish()
                    raise NoAnswer("the server does not answer")
                wanted = gen.send(ready)
        except StopIteration as end:
            result: T = end.value
            return result


class Session:
    """The connection of one ledger. Belongs to one thread."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self._parameters = dict(parameters)
        self._connection: Connection | None = None

    def run(self, work: Callable[[Connection], T], done: str = "read") -> T:
        """Return what *work* makes of the connection; raise `LedgerUnavailable`.

        Work must bear repetition: where an idle connection turns out to be dead, it is done again
        on a new one.
        """
        try:
            return self._tried(work)
        except psycopg.Error as error:
            raise self._unavailable(f"could not be {done}", error) from error

    def _tried(self, work: Callable[[Connection], T]) -> T:
        if self._connection is not None:
            try:
                return self._done(work, self._connection)
            except psycopg.Error as error:
                if self._holds or isinstance(error, NoAnswer):
                    raise
        return self._done(work, self._connected())

    @property
    def _holds(self) -> bool:
        """Whether there is a connection, for all we know."""
        return self._connection is not None

    def _done(self, work: Callable[[Connection], T], connection: Connection) -> T:
        try:
            return work(connection)
        except psycopg.Error as error:
            # A server that only reads was demoted: another one can write.
            if connection.closed or isinstance(error, errors.ReadOnlySqlTransaction):
                self.close()
            raise

    def _connected(self) -> Connection:
        connection = Connection.connect(
            **self._parameters,  # type: ignore[arg-type]  # names of libpq's, all of them text
            autocommit=True,
        )
        self._connection = connection
        storage.register(connection)
        connection.execute(_SYNCED)
        return connection

    def close(self) -> None:
        """Let the connection go; the next work makes another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _unavailable(self, what: str, error: psycopg.Error) -> LedgerUnavailable:
        said = str(error).strip() or type(error).__name__
        if password := self._parameters.get("password"):
            said = said.replace(password, "***")
        return LedgerUnavailable(f"the ledger {what}: {said}")
