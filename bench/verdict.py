"""A verdict with nothing to record: what every write to an unowned object would cost."""

from bench.lab.figure import TIMES, Figure, Goal
from bench.lab.lab import Lab
from bench.lab.load import Load
from bench.lab.reviews import unmanaged_update
from bench.lab.rounds import by_turns, latency_told, p50

GOALS = (
    Goal("verdict, nothing to record, 12 kB review, 1 connection, p50", "≤", 1.15, f"{TIMES} Go"),
)


def run(lab: Lab) -> list[Figure]:
    """Compare with the Go webhook that leaves the objects undecoded, the faster one."""
    with lab.contest() as servers:
        rounds = by_turns(lab, servers, Load(unmanaged_update()))
    return [GOALS[0].judged(rounds.ratio("glasswarden", "go", p50), latency_told(rounds))]
