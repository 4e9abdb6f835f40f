"""A ledger as lines of text and back: exact, in either direction, between the databases too."""

import json
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from glasswarden.ledger.chain import open_maintenance
from glasswarden.ledger.ledger import Ledger, LegalHold
from glasswarden.ledger.open import open_ledger
from glasswarden.ledger.retention import place_hold, release_hold
from glasswarden.ledger.spool import line_of
from glasswarden.ledger.transfer import BATCH, LineRejected, export_lines, import_lines
from tests.ledger.builders import SIGNER, TIME, an_attempt
from tests.ledger.conftest import Opener
from tests.ledger.fsck.builders import Writer, found_in, some_attempts, two_chains

HOUR = timedelta(hours=1)


def store(ledger: Ledger, lines: Iterable[bytes]) -> int:
    """Return how many records are in *ledger* after an import of *lines*."""
    *_, count = import_lines(ledger, lines)
    return count


def held(ledger: Ledger, ticket: str, *, is_lifted: bool = False) -> None:
    with open_maintenance(ledger, f"clerk-{ticket}", SIGNER, TIME + HOUR) as maintenance:
        place_hold(ledger, LegalHold(ticket, TIME + HOUR, "lead", "lawsuit"), maintenance)
    if is_lifted:
        with open_maintenance(ledger, f"lifter-{ticket}", SIGNER, TIME + 2 * HOUR) as maintenance:
            release_hold(ledger, ticket, "lead", "settled", maintenance)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Opener:
    """Return what opens new ledgers in files."""
    names = iter(range(10))
    return lambda: open_ledger(f"sqlite://{tmp_path}/elsewhere-{next(names)}.db")


def test_export_of_a_ledger_is_reproducible(ledger: Ledger) -> None:
    two_chains(ledger)
    assert list(export_lines(ledger)) == list(export_lines(ledger))


def test_export_and_import_keep_every_byte(ledger: Ledger, elsewhere: Opener) -> None:
    """From a file, to whichever database it is, to a file: the same lines, heads and holds."""
    with closing(elsewhere()) as origin, closing(elsewhere()) as end:
        two_chains(origin)
        held(origin, "INC-1")
        held(origin, "INC-2", is_lifted=True)
        assert store(ledger, export_lines(origin)) == len(list(export_lines(origin)))
        store(end, export_lines(ledger))
        assert list(export_lines(origin)) == list(export_lines(ledger)) == list(export_lines(end))
        for copy in (ledger, end):
            assert copy.heads() == origin.heads()
            assert copy.unwitnessed_heads() == origin.unwitnessed_heads()
            assert copy.holds() == origin.holds()
            assert [hold.ticket for hold in copy.holds()] == ["INC-1"]
            assert found_in(copy) == []


def test_import_can_be_repeated(ledger: Ledger, elsewhere: Opener) -> None:
    with closing(elsewhere()) as origin:
        two_chains(origin)
        lines = list(export_lines(origin))
    store(ledger, lines[:4])
    store(ledger, lines)
    assert store(ledger, lines) == len(lines)
    assert list(export_lines(ledger)) == lines


def test_import_of_an_old_export_does_not_undo_a_later_hold(ledger: Ledger) -> None:
    held(ledger, "INC-1", is_lifted=True)
    old = list(export_lines(ledger))
    again = LegalHold("INC-1", TIME + 3 * HOUR, "lead", "appealed")
    with open_maintenance(ledger, "clerk-again", SIGNER, TIME + 3 * HOUR) as maintenance:
        place_hold(ledger, again, maintenance)
    store(ledger, old)
    assert ledger.holds() == [again]
    assert found_in(ledger) == []


def test_hold_imported_after_its_release_is_not_in_force(ledger: Ledger, elsewhere: Opener) -> None:
    """Parts of an export may come in any order."""
    with closing(elsewhere()) as origin:
        held(origin, "INC-1", is_lifted=True)
        lines = list(export_lines(origin))
    store(ledger, lines[3:])
    store(ledger, lines[:3])
    assert ledger.holds() == []
    assert found_in(ledger) == []


def test_interrupted_import_can_be_resumed(ledger: Ledger, elsewhere: Opener) -> None:
    with closing(elsewhere()) as origin:
        Writer(origin).writes(*some_attempts(BATCH + 10))
        lines = list(export_lines(origin))
    progress = import_lines(ledger, lines)
    assert next(progress) == BATCH
    progress.close()  # type: ignore[attr-defined]  # it is a generator
    assert len(list(export_lines(ledger))) == BATCH
    store(ledger, lines)
    assert list(export_lines(ledger)) == lines


def test_clock_that_jumped_back_does_not_move_a_head(ledger: Ledger, elsewhere: Opener) -> None:
    """Lines come by id, which follows the clock; the chain's end is its last place all the same."""
    with closing(elsewhere()) as origin:
        records = Writer(origin).writes(
            an_attempt(time=TIME + 2 * HOUR), an_attempt(time=TIME + HOUR), is_closed=False
        )
        store(ledger, export_lines(origin))
    [head] = ledger.heads()
    assert (head.sequence, head.digest) == (3, records[2].digest)
    assert found_in(ledger) == []


def test_export_can_be_limited_by_time_and_ticket(ledger: Ledger) -> None:
    attempts = [
        an_attempt(time=TIME, ticket="INC-1"),
        an_attempt(time=TIME + HOUR, ticket="INC-1"),
        an_attempt(time=TIME + 2 * HOUR, ticket="INC-2"),
        an_attempt(time=TIME + 3 * HOUR),
    ]
    _, *records = Writer(ledger, since=TIME - HOUR).writes(*attempts, is_closed=False)
    lines = [line_of(record) for record in records]
    assert list(export_lines(ledger, since=TIME + HOUR)) == lines[1:]
    assert list(export_lines(ledger, since=TIME, until=TIME + 2 * HOUR)) == lines[:2]
    assert list(export_lines(ledger, tickets=["INC-1"])) == lines[:2]
    assert list(export_lines(ledger, tickets=["INC-1", "INC-2"])) == lines[:3]


def test_export_can_be_limited_by_a_very_long_ticket(ledger: Ledger) -> None:
    _, record = Writer(ledger).writes(an_attempt(ticket="INC-" + 1000 * "9"), is_closed=False)
    assert list(export_lines(ledger, tickets=["INC-" + 1000 * "9"])) == [line_of(record)]


def test_exported_line_is_plain_json(ledger: Ledger) -> None:
    two_chains(ledger)
    for line in export_lines(ledger):
        told = json.loads(line)
        assert told["record"]["cluster"] == "test"
        assert set(told) <= {"digest", "record", "signature"}


class TestRejectedImport:
    def test_edited_line_is_rejected(self, ledger: Ledger, elsewhere: Opener) -> None:
        with closing(elsewhere()) as origin:
            two_chains(origin)
            lines = list(export_lines(origin))
        lines[2] = lines[2].replace(b'"developer"', b'"outsider!"')
        with pytest.raises(LineRejected, match=r"line 3: record .* does not have its digest"):
            store(ledger, lines)
        assert list(export_lines(ledger)) == lines[:2]

    @pytest.mark.parametrize("line", [b"", b"{}\n", b"\xff\n", b'{"digest":"0"}\n'])
    def test_invalid_line_is_rejected(self, ledger: Ledger, line: bytes) -> None:
        with pytest.raises(LineRejected, match="line 1"):
            store(ledger, [line])

    def test_record_with_a_used_sequence_number_is_rejected(self, ledger: Ledger) -> None:
        one = Writer(ledger, "one").writes(*some_attempts(2), is_closed=False)
        [_, other, _] = Writer(_Nowhere(), "one").writes(*some_attempts(2), is_closed=False)  # type: ignore[arg-type]
        with pytest.raises(LineRejected, match="another record"):
            store(ledger, [line_of(replace(other, signature=""))])
        assert set(export_lines(ledger)) == {line_of(each) for each in one}


class _Nowhere:
    """A ledger that keeps nothing."""

    def unwitnessed_heads(self) -> list[object]:
        return []

    def append(self, _: object) -> None:
        return
