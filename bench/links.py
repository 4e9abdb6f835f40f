"""The link examined: a seeded history of many hands on two real API servers, name by name."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from bench.lab.figure import CannotRun, Figure, Goal, Unexpected
from bench.lab.lab import Lab
from tests.cluster.build import missing
from tests.cluster.catalogue import KUBERNETES

GOALS: Final = (
    Goal("links right on a seeded history: the right actor, or none", "≥", 100, "%"),
    Goal("wrong names on a seeded history", "≤", 0),
)
EXAMINATION: Final = "tests/cluster/test_links.py::test_no_name_is_wrong_in_a_long_history"
HERE: Final = Path(__file__).resolve().parent.parent
LONGEST_SECONDS: Final = 1800

_COLUMNS: Final = re.compile(r"; the last change was((?: +\w+)+)$")
_ROW: Final = re.compile(r"\S.*?((?: +\d+)+)$")
_WRITES: Final = re.compile(r"^writes: (.+)$", re.MULTILINE)
_SEED: Final = re.compile(r"^seed (\d+)", re.MULTILINE)


def run(lab: Lab) -> list[Figure]:
    """Let the examination take place as the test that it is, and count what it prints."""
    if missing(KUBERNETES):
        raise CannotRun("the control plane is not built; `make programs` builds it")
    lab.say("examining the links; some minutes")
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:randomly", EXAMINATION]
    done = subprocess.run(
        command, cwd=HERE, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS
    )
    outcomes = outcomes_in(done.stdout)
    if not outcomes.total():
        raise Unexpected(f"the examination printed no table: {done.stdout[-500:]}")
    wrong = outcomes["WRONG"]
    right = 100 * (outcomes.total() - wrong) / outcomes.total()
    return [
        GOALS[0].judged(right, f"{right:.2f} %: {told(outcomes)}"),
        GOALS[1].judged(wrong, f"{wrong}; {history_in(done.stdout)}"),
    ]


def outcomes_in(printed: str) -> Counter[str]:
    """Return how the links ended, summed over all tables in what was *printed*."""
    outcomes: Counter[str] = Counter()
    columns: list[str] = []
    for line in printed.splitlines():
        if head := _COLUMNS.search(line):
            columns = head[1].split()
        elif (row := _ROW.match(line)) and len(row[1].split()) == len(columns):
            numbers = map(int, row[1].split())
            outcomes.update(dict(zip(columns, numbers, strict=True)))
    return outcomes


def told(outcomes: Counter[str]) -> str:
    """Return *outcomes* for people."""
    return ", ".join(f"{count:,} {how}" for how, count in outcomes.items() if count)


def history_in(printed: str) -> str:
    """Return which history it was, and how long."""
    seed, writes = _SEED.search(printed), _WRITES.search(printed)
    return f"seed {seed[1] if seed else '?'}; {writes[1] if writes else 'no writes were counted'}"
