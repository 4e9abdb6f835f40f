"""Verifying a ledger: records a second on one core, and the memory that it takes."""

import hashlib
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.lab.figure import TIMES, Figure, Goal, Unexpected, times
from bench.lab.lab import Lab
from glasswarden.ledger.chain import Chain, Signer, new_opening
from glasswarden.ledger.compression import DICTIONARY, Bodies
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.record import FORMAT, Attempt, ChangedField, new_id, read_record
from glasswarden.ledger.sqlite.file import open_sqlite

RECORDS: Final = 20_000
BATCH: Final = 1_000
ROUNDS: Final = 3
TIME: Final = datetime(2026, 3, 1, tzinfo=UTC)
DAY: Final = timedelta(days=1)
GOALS = (
    Goal("fsck (SQLite), to inflating, SHA-256 and decoding alone", "≥", 0.5, TIMES),
    Goal("fsck, memory for 4 times the records", "≤", 1.1, TIMES),
)
# In a process of its own, whose largest size is then that of fsck.
MEMORY: Final = """
import resource, sys
from contextlib import closing
from pathlib import Path
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.sqlite import open_sqlite
with closing(open_sqlite(Path(sys.argv[1]))) as ledger:
    assert not list(Fsck(ledger, Trust()).findings())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(lab: Lab) -> list[Figure]:
    """Verify a ledger of typical records, and only hash and decode the same."""
    small, large = lab.folder / "small.db", lab.folder / "large.db"
    lab.say(f"writing {5 * RECORDS:,} records")
    fill(small, RECORDS)
    fill(large, 4 * RECORDS)
    alone, whole = [], []
    for _ in range(ROUNDS):
        alone.append(bare_rate(small))
        whole.append(fsck_rate(small))
        lab.say(f"alone {alone[-1]:,.0f}/s, fsck {whole[-1]:,.0f}/s")
    ratio = statistics.median(ours / bare for ours, bare in zip(whole, alone, strict=True))
    told = (
        f"{times(ratio)} ({statistics.median(whole):,.0f} records/s;"
        f" alone {statistics.median(alone):,.0f})"
    )
    sizes = [memory(file) for file in (small, large)]
    growth = sizes[1] / sizes[0]
    return [
        GOALS[0].judged(ratio, told),
        GOALS[1].judged(
            growth, f"{times(growth)} ({sizes[0] / 1024:.0f} → {sizes[1] / 1024:.0f} MB)"
        ),
    ]


def bare_rate(file: Path) -> float:
    """Return how many records a second are hashed and decoded when nothing else is done."""
    with closing(open_sqlite(file)) as ledger:
        bodies = [row.body for row in itertools.islice(ledger.rows_since(), RECORDS)]
    # As they are stored: whoever reads them must inflate them first.
    packer = Bodies(DICTIONARY)
    stored = [packer.pack(body) for body in bodies]
    begun = time.process_time()
    for packed in stored:
        body = packer.unpack(packed)
        read_record(body, hashlib.sha256(body).hexdigest())
    return len(bodies) / (time.process_time() - begun)


def fsck_rate(file: Path) -> float:
    """Return how many records a second fsck verifies, reading them included."""
    with closing(open_sqlite(file)) as ledger:
        fsck = Fsck(ledger, Trust())
        begun = time.process_time()
        if found := list(fsck.find_faults()):
            raise Unexpected(f"fsck found {found[0]}")
        return fsck.tally.records / (time.process_time() - begun)


def memory(file: Path) -> int:
    """Return the largest size of a process that verifies *file*, in kilobytes."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(file)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def fill(file: Path, count: int) -> None:
    """Write *count* records of four processes into a new ledger."""
    signer = Signer(Ed25519PrivateKey.generate())
    chains = [Chain(f"webhook-{number}", signer) for number in range(4)]
    with closing(open_sqlite(file)) as ledger:
        for number, chain in enumerate(chains):
            opened = chain.link([new_opening("prod", [], signer, TIME - DAY, bytes([number] * 10))])
            ledger.append(opened)
            chain.advance(opened)
        entries = attempts(count)
        for chain in itertools.cycle(chains):
            records = chain.link(itertools.islice(entries, BATCH))
            if not records:
                return
            ledger.append(records)
            chain.advance(records)


def attempts(count: int) -> Iterator[Attempt]:
    """Yield *count* typical attempts: a person changes two fields of a Deployment."""
    for number in range(count):
        now = TIME + timedelta(seconds=number)
        yield Attempt(
            format=FORMAT,
            id=new_id(now, number.to_bytes(10, "little")),
            time=now,
            cluster="prod",
            verdict="deny",
            clause="guard",
            mode="enforce",
            policy="a" * 64,
            actor=f"developer-{number % 50}@example.com",
            groups=("system:authenticated", "developers", "shop"),
            extra={"authentication.kubernetes.io/credential-id": ("X509SHA256=" + "b" * 64,)},
            manager="kubectl-edit",
            manager_operation="Update",
            inferred_verb="edit",
            operation="UPDATE",
            group="apps",
            version="v1",
            kind="Deployment",
            resource="deployments",
            namespace=f"shop-{number % 20}",
            name=f"web-{number % 200}",
            object_uid="0b6f9e0c-4c5f-4f0e-9a57-0f4f2f6d9a10",
            old_resource_version=str(number),
            generation=number,
            engine="flux",
            app="shop",
            app_kind="Kustomization",
            app_namespace="flux-system",
            changes=(
                ChangedField(path="/spec/replicas", manager="kubectl-edit", old=3, new=5),
                ChangedField(
                    path=f"/spec/template/spec/containers[name=app-{number % 5000}]/image",
                    manager="kubectl-edit",
                    old="registry.example/web:1.4.2",
                    new="registry.example/web:1.4.3",
                ),
            ),
            fingerprint="c" * 16,
        )
