"""What arrives in a ledger, as it arrives."""

from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.reading import record_in
from glasswarden.ledger.record import Record


class Follower:
    """Sees every record once that is stored after its making.

    It goes by places in chains, not by time: a record can be stored after one that is younger,
    because its writer was slower, or its network away.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._seen = {head.writer: head.sequence for head in ledger.heads()}

    def arrived(self) -> list[Record]:
        """Return what has arrived since this was last asked, oldest first; also the damaged."""
        records = [
            record_in(row)
            for head in self._ledger.heads()
            if head.sequence > self._seen.get(head.writer, 0)
            for row in self._ledger.rows(head.writer, self._seen.get(head.writer, 0))
        ]
        for record in records:
            place = record.entry
            self._seen[place.writer] = max(self._seen.get(place.writer, 0), place.sequence)
        return sorted(records, key=lambda record: record.entry.id)
