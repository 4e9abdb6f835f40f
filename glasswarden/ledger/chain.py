"""The chain of one writer: every record names the digest of the one before."""

from collections.abc import Iterable
from dataclasses import replace

from glasswarden.ledger.record import GENESIS, SIGNED, AnyEntry, Head, Record, seal
from glasswarden.ledger.signing import Signer


class Chain:
    """The open end of a chain. One process, one chain: writers never wait for each other."""

    def __init__(self, writer: str, signer: Signer) -> None:
        self.writer = writer
        self._signer = signer
        self._head = Head(writer, 0, GENESIS)

    @property
    def head(self) -> Head:
        """Where the chain ends."""
        return self._head

    def link(self, entries: Iterable[AnyEntry]) -> list[Record]:
        """Return *entries* as the chain's next records, without moving its end."""
        sequence, digest = self._head.sequence, self._head.digest
        records = []
        for entry in entries:
            sequence += 1
            record = seal(entry, self.writer, sequence, digest)
            if isinstance(entry, SIGNED):
                record = replace(record, signature=self._signer.sign(record.digest))
            digest = record.digest
            records.append(record)
        return records

    def advance(self, records: list[Record]) -> None:
        """Move the end past *records*, once they are stored: what failed leaves no hole."""
        if records:
            last = records[-1]
            self._head = Head(self.writer, last.entry.sequence, last.digest)
