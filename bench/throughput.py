"""How many verdicts a second, with as many workers as the machine has cores."""

import os

from bench.lab.figure import TIMES, Figure, Goal, times
from bench.lab.lab import Lab
from bench.lab.load import Load
from bench.lab.reviews import unmanaged_update
from bench.lab.rounds import by_turns, rate

CONNECTIONS = 8
GOALS = (
    Goal(
        "verdict, nothing to record, 12 kB review, 8 connections, requests/s",
        "≥",
        0.9,
        f"{TIMES} Go",
    ),
)


def run(lab: Lab) -> list[Figure]:
    """Compare with the Go webhook that leaves the objects undecoded, the faster one."""
    load = Load(unmanaged_update(), connections=CONNECTIONS, requests=8000, warmup=800)
    with lab.contest(workers=os.cpu_count() or 1) as servers:
        rounds = by_turns(lab, servers, load)
    ours, go, maps = (rounds.median(name, rate) for name in ("glasswarden", "go", "go-maps"))
    ratio = rounds.ratio("glasswarden", "go", rate)
    versus = rounds.ratio("glasswarden", "go-maps", rate)
    told = (
        f"{times(ratio)} ({ours:.0f}/s, Go {go:.0f}/s; "
        f"Go with both objects decoded {maps:.0f}/s: {times(versus)})"
    )
    return [GOALS[0].judged(ratio, told)]
