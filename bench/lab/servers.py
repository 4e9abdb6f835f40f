"""The servers that are measured, started as their users start them."""

import http.client
import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final

from tests.cluster.processes import (
    LOOPBACK,
    Process,
    Processes,
    ProcessFailed,
    free_ports,
    with_free_ports,
)

COMMAND: Final = Path(sys.executable).with_name("glasswarden")
PATIENCE: Final = 30.0
"""Seconds until a server that does not answer is given up."""


@dataclass(frozen=True, slots=True)
class Server:
    """A webhook that runs and has answered."""

    name: str
    url: str
    path: str
    """Where reviews are posted to."""
    authority: Path
    process: Process
    seconds: float
    """From its start to its first good answer."""

    @property
    def group(self) -> int:
        """The process group that holds the server and its workers."""
        return self.process.pid


@dataclass(frozen=True, slots=True)
class Plan:
    """How a server is started; `{port}` in the command stands for the one it gets."""

    name: str
    command: tuple[str, ...]
    authority: Path
    path: str


def glasswarden(
    certs: Path, path: str, ledger: str, keys: Path, workers: int, policy: Path | None
) -> Plan:
    """Return how the product is started, which takes reviews at *path*."""
    flags = ["--bind", f"{LOOPBACK}:{{port}}", "--certs", str(certs)]
    flags += ["--ledger", ledger, "--keys", str(keys), "--workers", str(workers)]
    flags += ["--policy", str(policy)] if policy else []
    return Plan("glasswarden", (str(COMMAND), "webhook", *flags), certs / "ca.crt", path)


def noop(program: Path, certs: Path, *, raw: bool, journal: Path | None = None) -> Plan:
    """Return how the Go webhook is started.

    *raw* leaves the review's objects undecoded; in *journal* it syncs a line before each answer.
    """
    flags = ["-bind", f"{LOOPBACK}:{{port}}", f"-raw={str(raw).lower()}"]
    flags += ["-cert", str(certs / "tls.crt"), "-key", str(certs / "tls.key")]
    flags += ["-journal", str(journal)] if journal else []
    name = "go-synced" if journal else "go" if raw else "go-maps"
    return Plan(name, (str(program), *flags), certs / "ca.crt", "/validate")


@contextmanager
def running(plan: Plan, processes: Processes) -> Iterator[Server]:
    """Start *plan*, wait for its first good answer, and stop it at the end."""
    server = with_free_ports(partial(_started, plan, processes))
    try:
        yield server
    finally:
        server.process.stop()


def launched(plan: Plan, processes: Processes, port: int) -> Process:
    """Start *plan* on *port* without waiting for it."""
    command = [part.replace("{port}", str(port)) for part in plan.command]
    return processes.start(plan.name, command)


def _started(plan: Plan, processes: Processes) -> Server:
    [port] = free_ports(1)
    context = ssl.create_default_context(cafile=plan.authority)
    start = time.monotonic()
    process = launched(plan, processes, port)
    while not _answers(port, context):
        if time.monotonic() - start > PATIENCE or not process.running:
            _give_up(process)
        time.sleep(0.002)
    seconds = time.monotonic() - start
    url = f"https://{LOOPBACK}:{port}"
    return Server(plan.name, url, plan.path, plan.authority, process, seconds)


def _give_up(process: Process) -> None:
    """Raise what the harness says about a program that is not ready, its log included."""
    process.wait_until(lambda: False, seconds=0)
    raise ProcessFailed(f"{process.name} did not get ready")


def _answers(port: int, context: ssl.SSLContext) -> bool:
    connection = http.client.HTTPSConnection(LOOPBACK, port, context=context, timeout=PATIENCE)
    with closing(connection):
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
