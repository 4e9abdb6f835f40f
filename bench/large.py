"""Objects as large as the API server takes, of the worst shapes."""

import statistics
from dataclasses import dataclass

from bench.lab.figure import TIMES, Figure, Goal, times
from bench.lab.lab import Lab
from bench.lab.load import Load
from bench.lab.reviews import PERSON, RECONCILER, review
from bench.lab.servers import Server
from bench.lab.shapes import ENTRIES, SHAPES, Shape

ROUNDS = 5
SIZES = (ENTRIES, ENTRIES // 2)
GOALS = (
    Goal("1.5 MB object, worst shape, 10,000 entries, p50", "≤", 250, "ms"),
    Goal("the same, time at 10,000 entries to time at 5,000", "≤", 2.4, TIMES),
)
WRITERS = {RECONCILER: "allowed", PERSON: "refused and recorded"}


@dataclass(frozen=True, slots=True)
class Cost:
    """What one shape took, written by one user."""

    name: str
    full: float
    """Milliseconds with all entries."""
    growth: float
    """The factor by which twice the entries take longer."""


def run(lab: Lab) -> list[Figure]:
    """Measure every shape at two sizes, by the owner and by a person."""
    costs = []
    with lab.glasswarden() as server:
        for shape in SHAPES:
            for user in WRITERS:
                costs.append(_cost(lab, server, shape, user))
                lab.say(f"{costs[-1].name}: {costs[-1].full:.0f} ms, {times(costs[-1].growth)}")
    slowest = max(costs, key=lambda cost: cost.full)
    steepest = max(costs, key=lambda cost: cost.growth)
    return [
        GOALS[0].judged(slowest.full, f"{slowest.full:.0f} ms ({slowest.name})"),
        GOALS[1].judged(steepest.growth, f"{times(steepest.growth)} ({steepest.name})"),
    ]


def _cost(lab: Lab, server: Server, shape: Shape, user: str) -> Cost:
    bodies = [review(*shape.pair(entries), user) for entries in SIZES]
    full, half = zip(
        *([_p50(lab, server, body, user) for body in bodies] for _ in range(ROUNDS)), strict=True
    )
    growth = statistics.median(all_ / some for all_, some in zip(full, half, strict=True))
    return Cost(f"{shape.name}, {WRITERS[user]}", statistics.median(full), growth)


def _p50(lab: Lab, server: Server, body: bytes, user: str) -> float:
    load = Load(body, requests=15, warmup=3, allowed=user == RECONCILER)
    return lab.measure(server, load).p50_ms
