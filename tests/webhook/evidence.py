"""What is left after a crash: in the ledger, in the spool, and in the hands of those who asked."""

from contextlib import closing
from pathlib import Path
from typing import Any

from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.open import open_ledger
from tests.ledger.chains import bodies_of
from tests.webhook.workers import Answers


def stored(address: str) -> list[dict[str, Any]]:
    """Return what the ledger holds; its chains must be sound."""
    with closing(open_ledger(address)) as ledger:
        return bodies_of(ledger)


def digests(address: str) -> list[tuple[str, str]]:
    with closing(open_ledger(address)) as ledger:
        return [(row.columns.id, row.digest) for row in ledger.rows_since()]


def assert_nothing_is_lost(address: str, answers: Answers) -> None:
    """Every acknowledged write is stored once, with the digest that was witnessed."""
    found = digests(address)
    by_id = dict(found)
    assert len(by_id) == len(found)
    assert {one: by_id.get(one) for one in answers.recorded} == answers.recorded
    stored(address)
    with closing(open_ledger(address)) as ledger:
        assert list(Fsck(ledger, Trust()).find_faults()) == []


def spooled(folder: Path) -> list[Path]:
    return list(folder.glob("*.jsonl"))
