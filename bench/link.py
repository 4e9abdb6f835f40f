"""The link: ten thousand findings and one ticket's report, out of a million records in SQLite."""

import json
import subprocess
import sys
from typing import Final

from bench.lab.figure import Figure, Goal, Unexpected
from bench.lab.lab import Lab
from bench.lab.million import INCIDENTS, million
from bench.lab.reports import report_seconds

GOALS: Final = (
    Goal("link 10,000 findings to 1 M records", "≤", 10, "s"),
    Goal("memory of linking 10,000 findings to 1 M records", "≤", 500, "MB"),
    Goal("a report of one ticket out of 1 M records, SQLite", "≤", 1, "s"),
)
FINDINGS: Final = 10_000


def run(lab: Lab) -> list[Figure]:
    """Link, and report."""
    path = million(lab)
    command = [sys.executable, "-m", "bench.lab.linking", str(path), str(FINDINGS)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = json.loads(output)
    ends = found["ends"]
    if sum(ends.values()) != FINDINGS or not FINDINGS / 2 < ends["explained"] < FINDINGS * 0.8:
        raise Unexpected(f"the links ended as {ends}")
    states = ", ".join(f"{count:,} {state}" for state, count in ends.items())
    linked = f"{found['seconds']:.1f} s, of {found['objects']:,} objects; {states}"
    lab.say(linked)
    seconds = report_seconds(lab, f"sqlite://{path}", f"INC-{INCIDENTS // 2}")
    return [
        GOALS[0].judged(found["seconds"], linked),
        GOALS[1].judged(found["mb"], f"{found['mb']:.0f} MB at most, the interpreter included"),
        GOALS[2].judged(seconds, f"{seconds:.2f} s, the command from start to end"),
    ]
