"""A guarded write with everything: difference, verdict, a record on the disk before the answer."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.apiserver import guarded, standing
from bench.lab.figure import TIMES, Figure, Goal, times
from bench.lab.lab import Lab
from bench.lab.load import Load
from bench.lab.objects import Object, compact
from bench.lab.postgres import migrated_server
from bench.lab.reviews import guarded_update
from bench.lab.rounds import Key, Rounds, by_turns, p50, rate
from bench.lab.servers import Server

CONNECTIONS, WORKERS = 32, 2
OURS, GO, SYNCED = SIDES = ("glasswarden", "go", "go-synced")
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


def warning_policy(lab: Lab) -> Path:
    """Return the file with the policy that only warns."""
    return lab.file(compact(_mode("warn")))


@contextmanager
def _contest(lab: Lab, workers: int, ledger: str) -> Iterator[list[Server]]:
    """Run the product, the Go webhook, and one that syncs a line before each answer.

    The last says what durability costs by itself on this disk: it looks at nothing, and what it
    writes answers no question.
    """
    with ExitStack() as stack:
        yield [
            stack.enter_context(lab.glasswarden(workers, warning_policy(lab), ledger)),
            stack.enter_context(lab.go(raw=True)),
            stack.enter_context(lab.go(raw=True, journal=lab.folder / "journal")),
        ]


def _alone(lab: Lab) -> Figure:
    with _contest(lab, 1, "alone") as servers:
        rounds = by_turns(lab, servers, Load(guarded_update()))
    return GOALS[0].judged(rounds.ratio(OURS, GO, p50), _told(rounds, p50, "{:.2f} ms"))


def _together(lab: Lab, goal: Goal = GOALS[1], ledger: str = "together") -> Figure:
    load = Load(guarded_update(), connections=CONNECTIONS, requests=8000, warmup=800)
    with _contest(lab, WORKERS, ledger) as servers:
        rounds = by_turns(lab, servers, load)
    return goal.judged(rounds.ratio(OURS, GO, rate), _told(rounds, rate, "{:.0f}/s"))


def _told(rounds: Rounds, key: Key, form: str) -> str:
    ours, go, synced = (form.format(rounds.median(name, key)) for name in SIDES)
    return (
        f"{times(rounds.ratio(OURS, GO, key))} ({ours}, Go {go}; Go that syncs a line"
        f" first {synced}: {times(rounds.ratio(OURS, SYNCED, key))})"
    )


def _together_in_postgres(lab: Lab) -> Figure:
    with migrated_server() as address:
        return _together(lab, GOALS[2], address)


def _through_the_api_server(lab: Lab) -> Figure:
    with standing(lab, _mode("audit")) as cluster:
        return guarded(lab, cluster, GOALS[3])
