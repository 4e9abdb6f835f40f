"""A guarded write with everything: difference, verdict, a record on the disk before the answer."""

from pathlib import Path

from bench.apiserver import guarded, standing
from bench.lab.figure import TIMES, Figure, Goal, times
from bench.lab.lab import Lab
from bench.lab.load import Load
from bench.lab.objects import Object, compact
from bench.lab.postgres import migrated_server
from bench.lab.reviews import guarded_update
from bench.lab.rounds import by_turns, latency_told, p50, rate

CONNECTIONS, WORKERS = 32, 2
GOALS = (
    Goal("guarded write, durable record (SQLite), 1 connection, p50", "≤", 2.0, f"{TIMES} Go"),
    Goal("the same, 32 connections, 2 workers, requests/s", "≥", 0.8, f"{TIMES} Go"),
    Goal("the same with PostgreSQL on loopback", "≥", 0.6, f"{TIMES} Go"),
    Goal(
        "through the API server: what a guarded update gains with its record, p50",
        "≤",
        1.6,
        f"{TIMES} what Go adds",
    ),
)


def run(lab: Lab) -> list[Figure]:
    """Compare with the Go webhook that leaves the objects undecoded, and stores nothing."""
    return [_alone(lab), _together(lab), _together_in_postgres(lab), _through_the_api_server(lab)]


def _mode(mode: str) -> Object:
    """Return the policy under which a guarded write is recorded, and then allowed as by Go."""
    return {"apiVersion": "glasswarden.io/v1", "kind": "Policy", "mode": mode}


def _warning(lab: Lab) -> Path:
    return lab.file(compact(_mode("warn")))


def _alone(lab: Lab) -> Figure:
    with lab.contest(policy=_warning(lab)) as servers:
        rounds = by_turns(lab, servers, Load(guarded_update()))
    return GOALS[0].judged(rounds.ratio("glasswarden", "go", p50), latency_told(rounds))


def _together(lab: Lab, goal: Goal = GOALS[1], ledger: str = "together") -> Figure:
    load = Load(guarded_update(), connections=CONNECTIONS, requests=8000, warmup=800)
    with lab.contest(WORKERS, _warning(lab), ledger) as servers:
        rounds = by_turns(lab, servers, load)
    ours, go, maps = (rounds.median(name, rate) for name in ("glasswarden", "go", "go-maps"))
    ratio = rounds.ratio("glasswarden", "go", rate)
    versus = rounds.ratio("glasswarden", "go-maps", rate)
    told = (
        f"{times(ratio)} ({ours:.0f}/s, Go {go:.0f}/s; "
        f"Go with both objects decoded {maps:.0f}/s: {times(versus)})"
    )
    return goal.judged(ratio, told)


def _together_in_postgres(lab: Lab) -> Figure:
    with migrated_server() as address:
        return _together(lab, GOALS[2], address)


def _through_the_api_server(lab: Lab) -> Figure:
    with standing(lab, _mode("audit")) as cluster:
        return guarded(lab, cluster, GOALS[3])
