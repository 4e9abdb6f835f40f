"""Verifying a grant: its signature, its content, and whether it counts for this write."""

import statistics
import time
from datetime import UTC, datetime, timedelta

from bench.lab.figure import Figure, Goal
from bench.lab.lab import Lab
from glasswarden.keys.ring import Key, Ring
from glasswarden.policy.breakglass.tokens import Stamp, check_stamp, issue_stamp, read_stamp
from glasswarden.policy.types import Actor, GrantOperation

ROUNDS = 30
PER_ROUND = 2000
HELD = 5
GOALS = (Goal("a grant verified, CPU, p50", "≤", 30, "µs"),)


def run(lab: Lab) -> list[Figure]:
    """Verify one stamp over and over, with as many held fields as a hotfix has."""
    now = datetime.now(UTC)
    ring = Ring(Key(f"key-{age}", bytes([age]) * 32, now - timedelta(days=age)) for age in (1, 2))
    token = issue_stamp(_stamp(now), ring, now)
    lab.say(f"a token of {len(token)} characters, {ROUNDS} rounds of {PER_ROUND}")
    p50 = statistics.median(_round(token, ring, now) for _ in range(ROUNDS))
    return [GOALS[0].judged(p50, f"{p50:.1f} µs")]


def _round(token: str, ring: Ring, now: datetime) -> float:
    """Return the microseconds of processor time that one verification takes, over a round."""
    actor = Actor("responder", "7f3c", ("oncall", "developers"))
    start = time.process_time()
    for _ in range(PER_ROUND):
        stamp = read_stamp(token, ring)
        operation = GrantOperation.UPDATE
        flaw = check_stamp(
            stamp, cluster="prod", uid="u", actor=actor, operation=operation, now=now
        )
        assert flaw is None
    return (time.process_time() - start) / PER_ROUND * 1e6


def _stamp(now: datetime) -> Stamp:
    return Stamp(
        id="5kq2vfo3yl7mzrx4",
        cluster="prod",
        uid="u",
        version="1234567",
        actor="responder",
        actor_uid="7f3c",
        rule="responders",
        ticket="INC-42",
        operations=(GrantOperation.UPDATE, GrantOperation.SCALE),
        start=now,
        expires=now + timedelta(hours=1),
        held=tuple(f"/spec/template/spec/containers[name=c{n}]/image" for n in range(HELD)),
    )
