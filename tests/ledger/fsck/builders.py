"""Ledgers with a past, and somebody who tampers with them behind the program's back."""

import itertools
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from glasswarden.ledger.chain import Chain, Signer, new_opening
from glasswarden.ledger.chain import new_closing as closing_entry
from glasswarden.ledger.compression import DICTIONARY, Bodies
from glasswarden.ledger.fsck.findings import Finding
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import file_of, is_postgres, open_ledger
from glasswarden.ledger.record import GENESIS, AnyEntry, Attempt, Record, seal
from tests.ledger.builders import SIGNER, TIME, an_attempt

STRANGER = Signer(Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33))))
TRUST = Trust(frozenset({SIGNER.public_key}))
_random = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Writer:
    """A process that records into *ledger*."""

    ledger: Ledger
    name: str = "one"
    signer: Signer = SIGNER
    since: datetime = TIME

    def writes(self, *attempts: Attempt, is_closed: bool = True) -> list[Record]:
        """Store a whole chain: its opening, *attempts*, and its closing if it comes to that."""
        entries: list[AnyEntry] = [
            new_opening(
                "test",
                self.ledger.unwitnessed_heads(),
                self.signer,
                self.since,
                some_random_bytes(),
            ),
            *attempts,
        ]
        if is_closed:
            later = self.since + timedelta(minutes=1)
            entries.append(closing_entry("test", self.signer, later, some_random_bytes()))
        records = Chain(self.name, self.signer).link(entries)
        self.ledger.append(records)
        return records


def some_random_bytes() -> bytes:
    """Return bytes that are different each time, and the same in each run."""
    return b"\xff" + next(_random).to_bytes(9, "big")  # not those of `an_attempt`


def some_attempts(count: int) -> list[Attempt]:
    """Return attempts of one person at different objects."""
    return [an_attempt(name=f"web-{number}") for number in range(count)]


def two_chains(ledger: Ledger) -> tuple[list[Record], list[Record]]:
    """Store a chain of six that ended, and one of four that saw it and still runs."""
    one = Writer(ledger, "one").writes(*some_attempts(4))
    two = Writer(ledger, "two", since=TIME + timedelta(hours=1)).writes(
        *some_attempts(3), is_closed=False
    )
    return one, two


def found_in(ledger: Ledger, trust: Trust = TRUST) -> list[Finding]:
    """Return what fsck finds."""
    return list(Fsck(ledger, trust).find_faults())


_PACK = Bodies(DICTIONARY).pack
TWIN_ID = "0195520c-0000-7000-8000-000000000000"
_IN_SQLITE = {
    "later": "time + 1",
    "without paths": "UPDATE record SET fields = x'' WHERE name = 'web-1'",
    "other paths": "UPDATE record SET fields = x'002f7800' WHERE name = 'web-1'",
    "paths of no use": "UPDATE record SET fields = substr(fields, 2) WHERE name = 'web-1'",
    "let duplicates in": "DROP INDEX record_place",
    "literal id": f"x'{TWIN_ID.replace('-', '')}'",
}
_IN_POSTGRES = {
    "later": "time + interval '1 microsecond'",
    "without paths": "UPDATE record SET fields = '{}' WHERE name = 'web-1'",
    "other paths": "UPDATE record SET fields = '{/spec/other}' WHERE name = 'web-1'",
    "paths of no use": "UPDATE record SET field_keys = '{}' WHERE name = 'web-1'",
    "let duplicates in": "SELECT make_month(moment_of('0195520c-0000-7000-8000-000000000000'))",
    "literal id": f"'{TWIN_ID}'",
}


@dataclass(frozen=True, slots=True)
class Intruder:
    """Somebody with all rights to the database at *address*, and without the key."""

    address: str

    @property
    def is_in_postgres(self) -> bool:
        """Whether it is the larger database."""
        return is_postgres(self.address)

    def run(self, *statements: str, values: Sequence[object] = ()) -> None:
        """Run *statements*, each with *values* for its question marks."""
        if self.is_in_postgres:
            with psycopg.connect(self.address) as server:
                server.execute("SET search_path = glasswarden, pg_temp")
                for each in statements:
                    marked = each.replace("%", "%%").replace("?", "%s")
                    server.execute(marked.encode(), values[: each.count("?")])
            return
        with closing(sqlite3.connect(file_of(self.address))) as file, file:
            for each in statements:
                file.execute(each, values[: each.count("?")])

    @property
    def only_in(self) -> dict[str, str]:
        """What each database has its own words for."""
        return _IN_POSTGRES if self.is_in_postgres else _IN_SQLITE

    def drop_chain(self, chain: str) -> None:
        """Remove all that the database has of *chain*."""
        self.run(
            "DELETE FROM record WHERE writer = ?",
            "DELETE FROM chain WHERE writer = ?",
            values=[chain],
        )

    def duplicate(self, chain: str, sequence: int, twin: Record) -> None:
        """Put *twin* beside the record that stands in a place, against the database's own rules."""
        place = f"writer = '{chain}' AND sequence = {sequence}"
        self.run(
            self.only_in["let duplicates in"],
            f"CREATE TEMP TABLE twin AS SELECT * FROM record WHERE {place}",  # noqa: S608
            f"UPDATE twin SET body = ?, digest = ?, id = {self.only_in['literal id']}",  # noqa: S608
            "INSERT INTO record SELECT * FROM twin",
            values=(_PACK(twin.body), bytes.fromhex(twin.digest)),
        )

    def put(self, record: Record, chain: str, sequence: int) -> None:
        """Put the bytes and the digest of *record* into a place, and leave the rest alone."""
        self.run(
            "UPDATE record SET body = ?, digest = ? WHERE writer = ? AND sequence = ?",
            values=(_PACK(record.body), bytes.fromhex(record.digest), chain, sequence),
        )

    def place(self, record: Record) -> None:
        """Add *record* wherever it says that it belongs, without a word in the list of chains."""
        entry = msgspec.structs.replace(record.entry, sequence=1)
        with closing(open_ledger(self.address)) as ledger:
            ledger.append([seal(entry, "placed", 1, GENESIS)])
        self.put(record, "placed", 1)
        self.run(
            "UPDATE record SET writer = ?, sequence = ? WHERE writer = 'placed'",
            values=(entry.writer, record.entry.sequence),
        )
        self.run("DELETE FROM chain WHERE writer = 'placed'")

    def insert(self, *records: Record) -> None:
        """Add *records* like the program would."""
        with closing(open_ledger(self.address)) as ledger:
            ledger.append(records)
