"""What a running webhook holds, and how long it takes to get there."""

import statistics
from dataclasses import replace

from bench.lab import servers
from bench.lab.figure import Figure, Goal
from bench.lab.image import installed
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
    lab.say("installing the product with the packages of its image")
    plan = lab.plan()
    command = str(installed(lab.folder / "image"))
    plan = replace(plan, command=(command, *plan.command[1:]))
    seconds = []
    for number in range(STARTS):
        with servers.running(plan, lab.processes) as server:
            seconds.append(server.seconds)
            lab.say(f"start {number + 1}/{STARTS}: ready after {server.seconds:.2f} s")
    with servers.running(plan, lab.processes) as server:
        memory = _memory(lab, server)
    held = f"{memory.rss:.1f} MB (PSS {memory.pss:.1f} MB, its share of what is shared)"
    took = statistics.median(seconds)
    return [
        GOALS[0].judged(memory.rss, held),
        GOALS[1].judged(took, f"{took:.2f} s (of {STARTS}; slowest {max(seconds):.2f} s)"),
    ]


def _memory(lab: Lab, server: Server) -> Memory:
    lab.measure(server, Load(reconciler_update(), connections=8, requests=4000))
    workers = [pid for pid in members(server.group) if pid != server.group]
    return max((memory_of(pid) for pid in workers), key=lambda memory: memory.rss)
