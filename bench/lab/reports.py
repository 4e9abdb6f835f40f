"""How long the command takes that makes a report, from its start to its end."""

import statistics
import subprocess
import time
from typing import Final

from bench.lab.figure import Unexpected
from bench.lab.lab import Lab
from bench.lab.servers import COMMAND

TIMES_OVER: Final = 5


def report_seconds(lab: Lab, ledger: str, ticket: str) -> float:
    """Return the middle one of several runs of `glasswarden report`; no cluster is asked."""
    taken = []
    command = [str(COMMAND), "report", "--ticket", ticket, "--no-live", "--ledger", ledger]
    for _ in range(TIMES_OVER):
        start = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        taken.append(time.perf_counter() - start)
        if ticket not in done.stdout or "nothing was changed" in done.stdout:
            raise Unexpected(f"the report about {ticket} is empty")
    lab.say(f"a report: {', '.join(f'{each:.2f} s' for each in taken)}")
    return statistics.median(taken)
