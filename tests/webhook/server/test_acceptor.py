"""Processes that share a listening socket share its callers."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from tests.cluster.processes import LOOPBACK
from tests.cluster.retries import eventually
from tests.webhook.workers import WORKERS, Webhook

pytestmark = pytest.mark.slow  # starts real servers

CALLERS = 40
LEAST = 18
"""Of an even share of twenty; without a hesitation at the door it is anything from none to 17."""

CROWDS = 5
"""On a busy machine now and then one process sleeps while the other lets a whole crowd in."""


def test_simultaneous_callers_are_spread_over_the_workers(tmp_path: Path) -> None:
    with Webhook(tmp_path, f"sqlite://{tmp_path}/ledger.db") as webhook:
        eventually(lambda: len(webhook.workers()) == WORKERS, "all workers")
        crowds = (spread(webhook) for _ in range(CROWDS))
        assert any(min(taken) >= LEAST for taken in crowds)


def spread(webhook: Webhook) -> list[int]:
    """Return how many each process has of callers who come at once, and leave again."""

    def taken() -> list[int]:
        return list(map(callers_of, webhook.workers()))

    eventually(lambda: not any(taken()), "nobody to be there")
    with ExitStack() as stack:
        for _ in range(CALLERS):
            stack.enter_context(closing(socket.create_connection((LOOPBACK, webhook.port))))
        eventually(lambda: sum(taken()) == CALLERS, "everybody to be let in")
        return taken()


def callers_of(pid: int) -> int:
    """Return how many connections over TCP a process has, which is no other's."""
    inodes = {name[8:-1] for name in files_of(pid) if name.startswith("socket:[")}
    lines = (line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:])
    return sum(fields[3] == ESTABLISHED and fields[9] in inodes for fields in lines)


def files_of(pid: int) -> Iterator[str]:
    """Yield what a process has open, but for what it closes meanwhile."""
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            yield str(file.readlink())


ESTABLISHED = "01"
