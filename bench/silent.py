"""Connections that say nothing: a server that waits for one of them answers nobody."""

from bench.lab.figure import TIMES, Figure, Goal, times
from bench.lab.lab import Lab
from bench.lab.load import Load, Sample
from bench.lab.reviews import unmanaged_update
from bench.lab.rounds import ROUNDS, Rounds, p50

HELD = 200
# A quarter more is what a round may differ from the next by itself.
GOALS = (
    Goal(
        "200 silent TLS connections held open, then requests, p50",
        "≤",
        1.25,
        f"{TIMES} without them",
    ),
    Goal("200 connections held before their handshake, p50", "≤", 1.25, f"{TIMES} without them"),
)


def run(lab: Lab) -> list[Figure]:
    """Ask with and without silent company, by turns."""
    review = unmanaged_update()
    loads = {
        "alone": Load(review, requests=1000),
        "silent": Load(review, requests=1000, silent=HELD),
        "mute": Load(review, requests=1000, mute=HELD),
    }
    samples: dict[str, list[Sample]] = {name: [] for name in loads}
    with lab.glasswarden() as server:
        for number in range(ROUNDS):
            for name, load in loads.items():
                samples[name].append(lab.measure(server, load))
                lab.say(f"round {number + 1}/{ROUNDS}, {name}: {samples[name][-1].p50_ms:.2f} ms")
    rounds = Rounds(samples)
    return [
        goal.judged(rounds.ratio(name, "alone", p50), _told(rounds, name))
        for goal, name in zip(GOALS, ("silent", "mute"), strict=True)
    ]


def _told(rounds: Rounds, name: str) -> str:
    ratio, with_them = rounds.ratio(name, "alone", p50), rounds.median(name, p50)
    worst = max(sample.max_ms for sample in rounds.samples[name])
    return f"{times(ratio)} (p50 {with_them:.2f} ms, longest {worst:.1f} ms, 0 errors)"
