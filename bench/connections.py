"""Latency and throughput over the number of connections, drawn side by side with Go."""

import os

from bench.lab.figure import TIMES, Figure, Goal, times
from bench.lab.lab import Lab
from bench.lab.load import Load, Sample
from bench.lab.reviews import unmanaged_update
from bench.lab.rounds import Key, Rounds, by_turns, p50, rate
from bench.lab.svg import Chart, Series

CONNECTIONS = (1, 2, 4, 8, 16, 32)
ROUNDS = 3
NAMES = {
    "glasswarden": "Glasswarden",
    "go": "Go, objects undecoded",
    "go-maps": "Go, objects decoded",
}
GOALS = (Goal("verdict, 12 kB review, 32 connections, requests/s", "≥", 0.9, f"{TIMES} Go"),)


def run(lab: Lab) -> list[Figure]:
    """Measure every server at every number of connections, and draw what came out."""
    review = unmanaged_update()
    with lab.contest(workers=os.cpu_count() or 1) as servers:
        measured = {
            count: by_turns(lab, servers, _load(review, count), ROUNDS) for count in CONNECTIONS
        }
    _draw(lab, measured, "connections-latency", "Latency of a verdict, p50", "ms", p50)
    _draw(lab, measured, "connections-p99", "Latency of a verdict, p99", "ms", _p99)
    _draw(lab, measured, "connections-rate", "Verdicts a second", "requests/s", rate)
    most = measured[CONNECTIONS[-1]]
    ours, go = most.median("glasswarden", rate), most.median("go", rate)
    ratio = most.ratio("glasswarden", "go", rate)
    return [GOALS[0].judged(ratio, f"{times(ratio)} ({ours:.0f}/s, Go {go:.0f}/s)")]


def _load(review: bytes, connections: int) -> Load:
    return Load(review, connections=connections, requests=2000 + 150 * connections)


def _p99(sample: Sample) -> float:
    return sample.p99_ms


def _draw(
    lab: Lab, measured: dict[int, Rounds], name: str, title: str, unit: str, key: Key
) -> None:
    series = [
        Series(label, [(count, rounds.median(server, key)) for count, rounds in measured.items()])
        for server, label in NAMES.items()
    ]
    chart = Chart(title, "connections", unit, series)
    (lab.plots / f"{name}.svg").write_text(chart.render())
