"""One connection to PostgreSQL: its parameters, its time limits, and reconnecting after a loss."""

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
"""The time after which the server cancels a statement."""

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
    # A peer that disappeared is noticed within seconds, idle or not.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
    "tcp_user_timeout": "8000",
}
"""Parameters that the address may override."""

_UNAMBIGUOUS: Final = re.compile(r"\w+://([^@/?]*@)?[^@?]*(\?.*)?", re.DOTALL)
_PORTS: Final = re.compile(r"[\d,]*")


def parameters_of(address: str) -> dict[str, str]:
    """Return *address* as libpq's parameters; raise `AddressInvalid`, without the password."""
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    except psycopg.Error:
        # The error is not chained: libpq quotes the address, and with it the password.
        raise AddressInvalid(
            "the address of the PostgreSQL ledger cannot be read;"
            " try postgresql://glasswarden@db/glasswarden"
        ) from None
    if not _UNAMBIGUOUS.fullmatch(address) or not _PORTS.fullmatch(given.get("port", "")):
        # Part of a password is in place of the host or port; libpq would quote it later.
        raise AddressInvalid(
            "the address of the PostgreSQL ledger has a strange host or port:"
            " write @ : / in a password as %40 %3A %2F"
        )
    ours = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    return {**DEFAULTS, **given, "options": f"{ours} {given.get('options', '')}".rstrip()}


T = TypeVar("T")

PATIENCE: Final = STATEMENT_SECONDS + 2.0
"""Seconds for an answer. A working server cancels the statement before."""

_SYNCED: Final = """
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
"""


class NoAnswer(psycopg.OperationalError):
    """The server keeps the connection open and does not answer."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection on which every wait has a limit, even if the server's process is frozen."""

    patience: float | None = PATIENCE

    def wait(self, gen: PQGen[T], *args: Any, **kwargs: Any) -> T:  # noqa: ANN401 - psycopg's own
        """Return what *gen* returns, or close the connection and raise `NoAnswer`."""
        if self.patience is None:
            return super().wait(gen, *args, **kwargs)
        return super().wait(
            self._limit_wait(gen, time.monotonic() + self.patience), *args, **kwargs
        )

    def _limit_wait(self, gen: PQGen[T], deadline: float) -> Generator[Any, Any, T]:
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
        """Return the result of *work* on the connection, or raise `LedgerUnavailable`.

        Work must be repeatable: where an idle connection turns out to be dead, it runs again on a
        new one.
        """
        try:
            return self._try_work(work)
        except psycopg.Error as error:
            raise self._new_unavailable(f"could not be {done}", error) from error

    def _try_work(self, work: Callable[[Connection], T]) -> T:
        if self._connection is not None:
            try:
                return self._do(work, self._connection)
            except psycopg.Error as error:
                if self._has_connection or isinstance(error, NoAnswer):
                    raise
        return self._do(work, self._connect())

    @property
    def _has_connection(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._connection is not None

    def _do(self, work: Callable[[Connection], T], connection: Connection) -> T:
        try:
            return work(connection)
        except psycopg.Error as error:
            # A server that only reads was demoted: another one can write.
            if connection.closed or isinstance(error, errors.ReadOnlySqlTransaction):
                self.close()
            raise

    def _connect(self) -> Connection:
        connection = Connection.connect(
            **self._parameters,  # type: ignore[arg-type]  # names of libpq's, all of them text
            autocommit=True,
        )
        self._connection = connection
        storage.register_texts(connection)
        connection.execute(_SYNCED)
        return connection

    def close(self) -> None:
        """Close the connection; the next work opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _new_unavailable(self, what: str, error: psycopg.Error) -> LedgerUnavailable:
        message = str(error).strip() or type(error).__name__
        if password := self._parameters.get("password"):
            message = message.replace(password, "***")
        return LedgerUnavailable(f"the ledger {what}: {message}")
