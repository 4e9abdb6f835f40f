"""The ledger as this machine reaches it: there, of our schema, sound at its end, with room left."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final

from glasswarden.ledger.address import file_of, is_postgres, open_ledger
from glasswarden.ledger.errors import (
    DriverMissing,
    LaterTables,
    LedgerError,
    LedgerMissing,
    MigrationNeeded,
)
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger
from glasswarden.setup.checks.finding import Finding, Health

TAIL: Final = timedelta(hours=24)
"""How much of the ledger's end is verified; `ledger fsck` reads all of it."""

MOST_SHOWN: Final = 3
LITTLE: Final = 0.10
"""A share of the disk."""
LEAST_BYTES: Final = 256_000_000
"""Some 150,000 records."""

_ADVICE: Final[dict[type[LedgerError], str]] = {
    MigrationNeeded: "glasswarden ledger migrate",
    LaterTables: "run the version of the program that made the tables",
    LedgerMissing: "is the address the webhook's own? --ledger",
    DriverMissing: "install glasswarden[postgres] on this machine",
}


def ledger(address: str, now: datetime) -> Iterator[Finding]:
    """Yield what there is to say about the ledger at *address*."""
    try:
        with closing(open_ledger(address, create=False)) as opened:
            yield Finding("ledger", Health.WELL, f"{len(opened.heads())} chains")
            yield tail(opened, now)
    except LedgerError as error:
        advice = _ADVICE.get(type(error), "docs/runbooks/ledger-away.md")
        yield Finding("ledger", Health.ILL, str(error), advice)
    if not is_postgres(address):
        yield from _disk("disk", file_of(address).parent)


def tail(opened: Ledger, now: datetime) -> Finding:
    """Judge whether the chains' ends are as they were written."""
    run = Fsck(opened, Trust(), since=now - TAIL)
    wrong = [str(finding) for finding in islice(run.findings(), MOST_SHOWN)]
    if wrong:
        advice = "glasswarden ledger fsck; docs/records.md says what a finding means"
        return Finding("chains", Health.ILL, "; ".join(wrong), advice)
    return Finding("chains", Health.WELL, f"{run.tally.records} records of a day verify")


def room(subject: str, free: int, total: int) -> Finding:
    """Judge how much room is left on a disk."""
    says = f"{free / 1e9:.1f} GB of {total / 1e9:.1f} GB are free"
    if free < min(LEAST_BYTES, LITTLE * total):
        advice = "make room, or glasswarden ledger prune: docs/runbooks/writes-unrecorded.md"
        return Finding(subject, Health.ILL, says, advice)
    if free < LITTLE * total:
        return Finding(subject, Health.UNSURE, says, "make room before it is full")
    return Finding(subject, Health.WELL, says)


def _disk(subject: str, folder: Path) -> Iterator[Finding]:
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return
    yield room(subject, usage.free, usage.total)
