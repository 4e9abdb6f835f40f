"""A verdict that takes the difference of both objects: an owner's own update, allowed."""

from bench.lab.figure import TIMES, Figure, Goal
from bench.lab.lab import Lab
from bench.lab.load import Load
from bench.lab.reviews import reconciler_update
from bench.lab.rounds import by_turns, latency_told, p50

GOALS = (Goal("diff + verdict, 12 kB review, 1 connection, p50", "≤", 1.6, f"{TIMES} Go"),)


def run(lab: Lab) -> list[Figure]:
    """Compare with the Go webhook that leaves the objects undecoded, the faster one."""
    with lab.contest() as servers:
        rounds = by_turns(lab, servers, Load(reconciler_update()))
    return [GOALS[0].judged(rounds.ratio("glasswarden", "go", p50), latency_told(rounds))]
