"""A million records in SQLite, as a year of a busy platform leaves them; made once a run."""

import random
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from bench.lab.attempts import START, WRITER, usual_attempt
from bench.lab.lab import Lab
from glasswarden.ledger.chain import Chain, new_opening
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import AnyEntry, Attempt, ChangedField, new_id
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.ledger.builders import SIGNER

RECORDS: Final = 1_000_000
FILLED_AT_ONCE: Final = 25_000
CLUSTER: Final = "prod-eu"
OBJECTS: Final = 20_000
NAMESPACES: Final = 100
PEOPLE: Final = 500
APPS: Final = 400
INCIDENTS: Final = 4_000
STEP: Final = timedelta(seconds=31)
END: Final = START + (RECORDS - 1) * STEP

PATHS: Final = (
    "/spec/template/spec/containers[name=app]/image",
    "/spec/replicas",
    "/spec/template/spec/containers[name=app]/resources/limits/memory",
    "/data/config.yaml",
    "/spec/suspend",
)
"""The first ones are changed most often."""


def million(lab: Lab) -> Path:
    """Return the file of the ledger, made unless another benchmark of this run has made it."""
    path = lab.folder / "million.db"
    if not path.exists():
        making = path.with_suffix(".making")
        with closing(open_sqlite(making)) as ledger:
            _fill(lab, ledger)
        making.rename(path)  # closed: all of it is in the one file
    return path


def some(chance: random.Random, count: int) -> int:
    """Return a number below *count*, small ones more often."""
    return int(count * chance.random() ** 2)


def _fill(lab: Lab, ledger: Ledger) -> None:
    chain, batch, start = Chain(WRITER, SIGNER), list[AnyEntry](), time.monotonic()
    batch.append(new_opening(CLUSTER, (), SIGNER, START - STEP, bytes(10)))
    for number, entry in enumerate(_archive(), start=1):
        batch.append(entry)
        if number % FILLED_AT_ONCE == 0:
            ledger.append(records := chain.link(batch))
            chain.advance(records)
            batch = []
        if number % 100_000 == 0:
            lab.say(f"{number:,} records after {time.monotonic() - start:.0f} s")


def _archive() -> Iterator[Attempt]:
    """Yield a year's attempts; some objects, people and fields recur more often than others."""
    chance = random.Random(WRITER)  # noqa: S311 - the same ones in every run
    usual = usual_attempt()
    for number in range(RECORDS):
        time_ = START + number * STEP
        one, incident = some(chance, OBJECTS), number * INCIDENTS // RECORDS
        act = {0: "issued", 100: "used", 200: "closed"}.get(number % 250, "")
        path = PATHS[int(len(PATHS) * chance.random() ** 3)]
        value = chance.randrange(2, 10)
        yield replace(
            usual,
            id=new_id(time_, chance.randbytes(10)),
            time=time_,
            verdict="deny" if chance.random() < 0.03 else "allow",
            namespace=namespace_of(one),
            name=f"service-{one}",
            object_uid=f"uid-{one}",
            app=f"app-{one % APPS}",
            actor=f"person-{some(chance, PEOPLE)}@example.com",
            changes=(ChangedField(path=path, old=1, new=value, manager="kubectl-edit"),),
            ticket=f"INC-{incident}" if act else "",
            grant=f"grant-{incident}" if act else "",
            grant_act=act,
            grant_expires=time_ + timedelta(hours=1) if act == "issued" else None,
        )


def namespace_of(number: int) -> str:
    """Return where the object of that number is."""
    return f"team-{number % NAMESPACES}"
