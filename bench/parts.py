"""Where the time of a guarded write goes: its parts one by one, in one process, no network."""

import json
import statistics
import subprocess
import sys
from typing import Final

from bench.durable import warning_policy
from bench.lab.figure import TIMES, Figure, Goal, times
from bench.lab.lab import Lab
from bench.lab.parts import PLAIN, STORING, WHOLE

GOALS: Final = (
    Goal("a guarded write without its commit, p50", "≤", 6.0, f"{TIMES} json.loads of its review"),
)

WRITES: Final = 1500


def run(lab: Lab) -> list[Figure]:
    """Time them in a process of their own, whose log goes to a file as a webhook's does."""
    command = [sys.executable, "-m", "bench.lab.parts"]
    command += [str(warning_policy(lab)), str(lab.keys), str(lab.folder), str(WRITES)]
    with (lab.folder / "parts.log").open("wb") as log:
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=log)
    taken = {part: statistics.median(each) for part, each in json.loads(done.stdout).items()}
    whole, plain = taken.pop(WHOLE), taken.pop(PLAIN)
    ratio = (whole - taken[STORING]) / plain
    listed = ", ".join(f"{part} {each:.2f}" for part, each in taken.items())
    rest = whole - sum(taken.values())
    told = (
        f"{times(ratio)} (the whole {whole:.2f} ms: {listed}; its log line, its figures and"
        f" turns of the loop {rest:.2f}; json.loads {plain:.2f})"
    )
    return [GOALS[0].judged(ratio, told)]
