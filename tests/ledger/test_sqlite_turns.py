"""Processes that write to one file take turns."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.query import Question
from glasswarden.ledger.sqlite.file import open_sqlite
from glasswarden.ledger.sqlite.session import Turns, TurnTimeout
from tests.ledger.builders import an_attempt, records_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def other(path: Path) -> Iterator[Turns]:
    with closing(Turns(path, 1)) as turns:
        yield turns


def take(turns: Turns) -> None:
    """Have a turn, however often patience is lost: it is short here, and machines are busy."""
    while True:
        with suppress(TurnTimeout), turns.take_turn():
            return


def test_turn_times_out_while_another_is_held(path: Path, other: Turns) -> None:
    with closing(Turns(path, 0.01)) as turns:
        with other.take_turn(), pytest.raises(TurnTimeout, match="stays locked"), turns.take_turn():
            pytest.fail("two have a turn")
        take(turns)


def test_timed_out_turn_does_not_block_later_turns(path: Path, other: Turns) -> None:
    before = set(threading.enumerate())
    impatient = Turns(path, 0.01)
    with other.take_turn():
        for _ in range(3):
            with pytest.raises(TurnTimeout), impatient.take_turn():
                pytest.fail("two have a turn")
        [waiting] = set(threading.enumerate()) - before
    waiting.join()
    take(other)
    take(impatient)
    impatient.close()


def test_turn_can_be_taken_after_a_timeout(path: Path, other: Turns) -> None:
    impatient = Turns(path, 0.01)
    with other.take_turn(), pytest.raises(TurnTimeout), impatient.take_turn():
        pytest.fail("two have a turn")
    for _ in range(3):
        take(impatient)
        take(other)
    impatient.close()


def test_error_ends_the_turn(path: Path, other: Turns) -> None:
    with pytest.raises(ZeroDivisionError), other.take_turn():
        _ = 1 / 0
    with closing(Turns(path, 0.01)) as turns:
        take(turns)


def test_ledger_without_a_turn_is_unavailable(path: Path, other: Turns) -> None:
    records = records_of(an_attempt())
    with closing(open_sqlite(path, patience=0.01)) as ledger:
        with other.take_turn(), pytest.raises(LedgerUnavailable, match="locked"):
            ledger.append(records)
        assert ledger.ask(Question()) == []
        while not ledger.ask(Question()):
            with suppress(LedgerUnavailable):
                ledger.append(records)
        assert ledger.ask(Question()) == records


HOLDER = """
import sys, time
from pathlib import Path
from glasswarden.ledger.sqlite.session import Turns
with Turns(Path(sys.argv[1]), 5).take_turn():
    print("mine", flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_turn_of_a_killed_process_ends(path: Path, other: Turns) -> None:
    with _process(HOLDER, path) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "mine\n"
        holder.kill()
    with other.take_turn():
        pass


WRITER = """
import sys
import threading
from pathlib import Path
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.ledger.builders import a_chain, an_attempt
path, name, enough = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
chain, ledger, done = a_chain(name), open_sqlite(path), path.with_name("done")
print("ready", flush=True)
sys.stdin.readline()
while not done.exists():
    records = chain.link([an_attempt(id=f"019ca945-0f4e-7000-{name}-{chain.head.sequence:012x}")])
    ledger.append(records)
    chain.advance(records)
    if chain.head.sequence == enough:
        done.touch()
"""


@pytest.mark.slow
def test_turns_are_distributed_fairly_among_processes(path: Path) -> None:
    """When the luckiest of four has written 200 records, the others have more than half of that."""
    with ExitStack() as stack:
        writers = [
            stack.enter_context(_process(WRITER, path, name, "200"))
            for name in ("8001", "8002", "8003", "8004")
        ]
        for writer in writers:
            assert writer.stdout
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin
            print("go", file=writer.stdin, flush=True)
    assert [writer.returncode for writer in writers] == [0] * 4
    with closing(open_sqlite(path)) as ledger:
        counts = [head.sequence for head in ledger.heads()]
        assert sum(counts) == sum(1 for _ in ledger.rows_since())
    assert len(counts) == 4
    assert min(counts) > 100


def _process(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
