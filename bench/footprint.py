"""What a running webhook holds, and how long it takes to get there."""

import statistics

from bench.lab.figure import Figure, Goal
from bench.lab.lab import Lab
from bench.lab.load import Load
from bench.lab.reviews import reconciler_update
from bench.lab.servers import Server
from bench.lab.usage import Memory, members, memory_of

STARTS = 7
GOALS = (
    Goal("worker memory under load, RSS", "≤", 60, "MB"),
    Goal("start to ready", "≤", 1, "s"),
)


def run(lab: Lab) -> list[Figure]:
    """Start several times; look at the worker's memory after it has worked."""
    seconds = []
    for number in range(STARTS):
        with lab.glasswarden() as server:
            seconds.append(server.seconds)
            lab.say(f"start {number + 1}/{STARTS}: ready after {server.seconds:.2f} s")
    with lab.glasswarden() as server:
        memory = _memory(lab, server)
    held = f"{memory.rss:.0f} MB (PSS {memory.pss:.0f} MB, its share of what is shared)"
    took = statistics.median(seconds)
    return [
        GOALS[0].judged(memory.rss, held),
        GOALS[1].judged(took, f"{took:.2f} s (of {STARTS}; slowest {max(seconds):.2f} s)"),
    ]


def _memory(lab: Lab, server: Server) -> Memory:
    lab.measure(server, Load(reconciler_update(), connections=8, requests=4000))
    workers = [pid for pid in members(server.group) if pid != server.group]
    return max((memory_of(pid) for pid in workers), key=lambda memory: memory.rss)
