"""What fsck reads from a ledger: the writers of its records, and which are signed."""

from glasswarden.ledger.ledger import Ledger
from tests.ledger.builders import an_attempt, an_opening, records_of
from tests.ledger.fsck.builders import Intruder, two_chains


def test_empty_ledger_has_no_writers(ledger: Ledger) -> None:
    assert ledger.writers() == []
    assert list(ledger.signed_rows()) == []


def test_writers_are_read_from_the_records(ledger: Ledger, intruder: Intruder) -> None:
    """A chain that somebody took off the list of chains is there all the same."""
    for name in ("b", "a", "c"):
        ledger.append(records_of(an_attempt(), an_attempt(), writer=name))
    intruder.run("DELETE FROM chain WHERE writer = 'a'")
    assert ledger.writers() == ["a", "b", "c"]


def test_signed_records_are_ordered_by_id(ledger: Ledger) -> None:
    two_chains(ledger)
    rows = list(ledger.signed_rows())
    assert [row.columns.type for row in rows] == ["opened", "closed", "opened"]
    assert all(row.signature for row in rows)


def test_signed_records_are_read_over_several_pages(ledger: Ledger) -> None:
    openings = [an_opening() for _ in range(1100)]
    chains = [records_of(each, writer=f"writer-{n:04}") for n, each in enumerate(openings)]
    ledger.append([record for records in chains for record in records])
    assert len({row.columns.id for row in ledger.signed_rows()}) == len(chains)
    assert len(ledger.writers()) == len(chains)
