"""The chain of one writer: every record names the digest of the one before."""

from collections.abc import Iterable

from glasswarden.ledger.record import GENESIS, Entry, Record, linked


class Chain:
    """The open end of a chain. One process, one chain: writers never wait for each other."""

    def __init__(self, writer: str) -> None:
        self.writer = writer
        self._sequence = 0
        self._head = GENESIS

    def link(self, entries: Iterable[Entry]) -> list[Record]:
        """Return *entries* as the chain's next records, without moving its end."""
        sequence, head = self._sequence, self._head
        records = []
        for entry in entries:
            sequence += 1
            record = linked(entry, self.writer, sequence, head)
            head = record.digest
            records.append(record)
        return records

    def advance(self, records: list[Record]) -> None:
        """Move the end past *records*, once they are stored: what failed leaves no hole."""
        if records:
            self._sequence = records[-1].sequence
            self._head = records[-1].digest
