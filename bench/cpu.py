"""The CPU time of a verdict, over all processes of the server."""

import statistics

from bench.lab.figure import Figure, Goal
from bench.lab.lab import Lab
from bench.lab.load import Load
from bench.lab.reviews import unmanaged_update
from bench.lab.servers import Server
from bench.lab.usage import cpu_seconds

ROUNDS = 3
# A fifth of what Gatekeeper 3.23 was measured to take for one rule, 6.3 ms.
GOALS = (Goal("CPU a request, verdict, nothing to record", "≤", 1.3, "ms"),)


def run(lab: Lab) -> list[Figure]:
    """Divide what the process groups took by what they were asked."""
    load = Load(unmanaged_update(), requests=3000)
    costs: dict[str, list[float]] = {}
    with lab.contest() as servers:
        for server in servers * ROUNDS:  # by turns: the list once per round
            costs.setdefault(server.name, []).append(_cost(lab, server, load))
    middle = {name: statistics.median(each) for name, each in costs.items()}
    told = (
        f"{middle['glasswarden']:.2f} ms (Go {middle['go']:.2f} ms; "
        f"Go with both objects decoded {middle['go-maps']:.2f} ms)"
    )
    return [GOALS[0].judged(middle["glasswarden"], told)]


def _cost(lab: Lab, server: Server, load: Load) -> float:
    """Return the CPU milliseconds a request, the warm-up's requests included."""
    before = cpu_seconds(server.group)
    sample = lab.measure(server, load)
    taken = cpu_seconds(server.group) - before
    lab.say(f"{server.name}: {taken:.2f} s CPU for {sample.requests + load.warmup} requests")
    return taken * 1000 / (sample.requests + load.warmup)
