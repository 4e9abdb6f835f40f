"""Objects as large as the API server takes, of the worst shapes."""

import statistics
from dataclasses import dataclass

from bench.lab.figure import TIMES, Figure, Goal, times
from bench.lab.lab import Lab
from bench.lab.load import Load
from bench.lab.reviews import PERSON, RECONCILER, review
from bench.lab.servers import Server
from bench.lab.shapes import ENTRIES, SHAPES, Shape

ROUNDS = 3
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
    half: float

    @property
    def growth(self) -> float:
        """The factor by which twice the entries take longer."""
        return self.full / self.half


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
    times: dict[int, list[float]] = {ENTRIES: [], ENTRIES // 2: []}
    for _ in range(ROUNDS):
        for entries, each in times.items():
            body = review(*shape.pair(entries), user)
            load = Load(body, requests=7, warmup=1, allowed=user == RECONCILER)
            each.append(lab.measure(server, load).p50_ms)
    full, half = (statistics.median(each) for each in times.values())
    return Cost(f"{shape.name}, {WRITERS[user]}", full, half)
