"""The first second after a start: a guard that is not ready yet must not say yes."""

import os
import signal
import subprocess

import msgspec

from bench.lab import servers
from bench.lab.figure import Figure, Goal, Unexpected
from bench.lab.lab import SLACK, Lab
from bench.lab.reviews import guarded_update
from tests.cluster.processes import LOOPBACK, free_ports

STARTS = 50
LIMIT = 20
GOALS = (Goal("guarded writes allowed in the first second of 50 starts", "≤", 0),)


class Knocks(msgspec.Struct, frozen=True):
    """What came back from the door during one start."""

    asked: int
    refused: int
    allowed: int
    denied: int
    others: dict[str, int]
    first_answer_s: float


def run(lab: Lab) -> list[Figure]:
    """Knock from before the start until a second after the first answer, again and again."""
    seen = []
    for number in range(STARTS):
        seen.append(_start(lab))
        lab.say(f"start {number + 1}/{STARTS}: {_told(seen[-1:])}")
    allowed = sum(knocks.allowed for knocks in seen)
    return [GOALS[0].judged(allowed, _told(seen))]


def _start(lab: Lab) -> Knocks:
    [port] = free_ports(1)
    plan = lab.plan(ledger="starts")
    url = f"https://{LOOPBACK}:{port}{plan.path}"
    flags = ["-url", url, "-ca", str(plan.authority), "-body", str(lab.file(guarded_update()))]
    command = [str(lab.programs / "knock"), *flags, "-limit", f"{LIMIT}s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as knocking:
        process = servers.launched(plan, lab.processes, port)
        try:
            output, _ = knocking.communicate(timeout=LIMIT + SLACK)
        finally:
            # Killed, not stopped: the next start finds what a crash leaves behind.
            os.killpg(process.pid, signal.SIGKILL)
            process.stop()
    return _parsed(output)


def _parsed(output: bytes) -> Knocks:
    knocks = msgspec.json.decode(output, type=Knocks)
    if not knocks.denied:
        raise Unexpected(f"the guarded write was never refused: {knocks}")
    return knocks


def _told(seen: list[Knocks]) -> str:
    others = sum(sum(knocks.others.values()) for knocks in seen)
    return (
        f"{sum(knocks.allowed for knocks in seen)} allowed, "
        f"{sum(knocks.denied for knocks in seen)} denied, "
        f"{sum(knocks.refused for knocks in seen)} connections refused, {others} other answers"
    )
