"""Volumes that are full or read-only: real ones, mounted for the test in a namespace of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """Return where a volume can be mounted."""
    tried = shutil.which("unshare") and subprocess.run(
        [*NAMESPACE, "mount", "-t", "tmpfs", "none", tmp_path], capture_output=True, check=False
    )
    if not tried or tried.returncode:
        pytest.skip("NOT TESTED: this machine lets nobody mount a volume of their own")
    return tmp_path


def run_on(volume: Path, size: str, code: str) -> None:
    """Run *code* with a volume of *size* mounted at `volume`; its asserts are the test's."""
    mount = f"mount -t tmpfs -o size={size} none {volume} && exec {sys.executable} -c '{code}'"
    done = subprocess.run(
        [*NAMESPACE, "sh", "-c", mount], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr


def test_full_volume_rejects_the_batch_and_keeps_stored_records(volume: Path) -> None:
    code = f"""
import os
from pathlib import Path
from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.query import Question
from glasswarden.ledger.sqlite import open_sqlite
from tests.ledger.builders import a_chain, an_attempt

volume = Path("{volume}")
filler, chain = volume / "filler", a_chain()
ledger = open_sqlite(volume / "ledger.db")

def append(count):
    records = chain.link([an_attempt() for _ in range(count)])
    ledger.append(records)
    chain.advance(records)

append(10)
with filler.open("wb") as file:
    try:
        while True:
            os.write(file.fileno(), bytes(4096))
    except OSError:
        pass
for _ in range(3):
    try:
        append(2000)
    except LedgerUnavailable as error:
        assert "cannot be written" in str(error), error
    else:
        raise AssertionError("stored on a full volume")
assert len(ledger.ask(Question(limit=10000))) == 10
filler.unlink()
append(5)
assert [head.sequence for head in ledger.heads()] == [15]
"""
    run_on(volume, "4m", code)


@pytest.mark.parametrize("left", ["closed", "open"])
def test_read_only_volume_can_be_read_and_rejects_writes(volume: Path, left: str) -> None:
    """Whether its writer closed the ledger, or was killed and left the log beside it."""
    code = f"""
import os, subprocess
from pathlib import Path
from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.query import Question
from glasswarden.ledger.sqlite import open_sqlite
from tests.ledger.builders import an_attempt, records_of

volume = Path("{volume}")
writer = open_sqlite(volume / "ledger.db")
writer.append(records := records_of(an_attempt()))
if "{left}" == "closed":
    writer.close()
subprocess.run(["mount", "-o", "remount,ro", volume], check="{left}" == "closed")
if "{left}" == "open":
    subprocess.run(["mount", "--bind", "-o", "ro", volume, volume], check=True)
ledger = open_sqlite(volume / "ledger.db", create=False)
assert ledger.ask(Question()) == records
for again in (ledger.append, ledger.append):
    try:
        again(records_of(an_attempt(), writer="other"))
    except LedgerUnavailable as error:
        assert "cannot be written" in str(error), error
    else:
        raise AssertionError("written to a read-only volume")
assert ledger.ask(Question()) == records
"""
    run_on(volume, "4m", code)
