"""What is read of the ledger about grants: all of each, and of a repeated write the last try."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from correlator import grants
from correlator.grants import grant_attempts_since
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.correlator.attribution.builders import at, wrote
from tests.correlator.grants.test_grant import granted
from tests.ledger.builders import records_of


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(open_sqlite(tmp_path / "ledger.db")) as opened:
        yield opened


def told(attempts: list[Attempt]) -> list[str]:
    return [f"{each.grant} {each.grant_act}" for each in attempts]


def test_grant_is_read_from_its_first_record(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grants, "PAGE", 1)
    acts = [granted(0, "issued"), granted(1, "used", "/spec/paused"), granted(9, "closed")]
    others = [granted(2, "issued", grant="g2"), wrote(10, "/spec/replicas")]
    ledger.append(records_of(*acts, *others))
    assert told(grant_attempts_since(ledger, at(5))) == ["g1 issued", "g1 used", "g1 closed"]
    assert told(grant_attempts_since(ledger, at(5), "another")) == []


def test_last_grant_of_a_retried_write_applies(ledger: Ledger) -> None:
    tries = [
        granted(number / 60, "issued", "/spec/replicas", grant=grant, fingerprint="f")
        for number, grant in enumerate(["phantom", "stored"])
    ]
    ledger.append(records_of(*tries, granted(1, "used", grant="stored", fingerprint="f")))
    assert told(grant_attempts_since(ledger, at(0))) == ["stored issued", "stored used"]


def test_issue_and_close_within_the_retry_window_are_two_writes(ledger: Ledger) -> None:
    soon = [
        granted(number / 60, act, fingerprint="f")
        for number, act in enumerate(["issued", "closed"])
    ]
    ledger.append(records_of(*soon))
    assert told(grant_attempts_since(ledger, at(0))) == ["g1 issued", "g1 closed"]
