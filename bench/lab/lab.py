"""The bench that a benchmark works at: it starts servers, puts load on them, keeps files."""

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from bench.lab import golang, servers
from bench.lab.load import Load, Sample, parse_sample
from bench.lab.registration import validating_configuration
from bench.lab.servers import Plan, Server
from glasswarden.ledger.keys import make_keys
from tests.cluster.processes import LOOPBACK, Processes, tail_of

SLACK: Final = 30
"""Seconds that a helper gets above what it was told to take."""


class Lab:
    """One run's place to work in."""

    def __init__(self, folder: Path, plots: Path, say: Callable[[str], None]) -> None:
        self.folder = folder
        """For files that nobody needs afterwards."""
        self.plots = plots
        """For drawings that stay."""
        self.say = say
        """Tells whoever waits what is being done."""
        self.processes = Processes(folder / "logs", dict(os.environ))

    @cached_property
    def certs(self) -> Path:
        """A folder with a serving certificate for loopback."""
        folder = self.folder / "certs"
        command = [str(servers.COMMAND), "certs", "issue", "--dir", str(folder), "--host", LOOPBACK]
        subprocess.run(command, check=True, capture_output=True)
        return folder

    @cached_property
    def keys(self) -> Path:
        """A folder with the keys of every ledger."""
        make_keys(self.folder / "keys", datetime.now(UTC))
        return self.folder / "keys"

    @cached_property
    def programs(self) -> Path:
        """The folder with the Go programs."""
        return golang.built(self.say)

    def file(self, content: bytes) -> Path:
        """Return a file with *content*."""
        path = self.folder / hashlib.sha256(content).hexdigest()[:16]
        if not path.exists():
            path.write_bytes(content)
        return path

    @cached_property
    def path(self) -> str:
        """Where the product takes reviews: whatever it has the API server told."""
        told = validating_configuration(f"https://{LOOPBACK}", self.certs / "ca.crt")
        return urlsplit(str(told["webhooks"][0]["clientConfig"]["url"])).path

    def plan(self, workers: int = 1, policy: Path | None = None, ledger: str = "ledger") -> Plan:
        """Return how the product is started, with *ledger* as its ledger's name or address."""
        address = ledger if ":" in ledger else f"sqlite://{self.folder / ledger}.db"
        return servers.glasswarden(self.certs, self.path, address, self.keys, workers, policy)

    def glasswarden(
        self, workers: int = 1, policy: Path | None = None, ledger: str = "ledger"
    ) -> AbstractContextManager[Server]:
        """Run the product."""
        return servers.running(self.plan(workers, policy, ledger), self.processes)

    def go(self, *, raw: bool, journal: Path | None = None) -> AbstractContextManager[Server]:
        """Run the Go webhook that allows everything."""
        return servers.running(
            servers.noop(self.programs / "noop", self.certs, raw=raw, journal=journal),
            self.processes,
        )

    @contextmanager
    def contest(
        self, workers: int = 1, policy: Path | None = None, ledger: str = "ledger"
    ) -> Iterator[list[Server]]:
        """Run the product and both forms of the Go webhook side by side."""
        with ExitStack() as stack:
            yield [
                stack.enter_context(self.glasswarden(workers, policy, ledger)),
                stack.enter_context(self.go(raw=True)),
                stack.enter_context(self.go(raw=False)),
            ]

    def measure(self, server: Server, load: Load) -> Sample:
        """Put *load* on *server*; raise `Unexpected` where an answer is not the right one."""
        output = self.run("load", server, load.review, load.flags, 3 * load.seconds)
        return parse_sample(output, load)

    def run(
        self, program: str, server: Server, review: bytes, flags: list[str], seconds: float
    ) -> bytes:
        """Return what a Go client prints that asks *server* about *review*."""
        where = ["-url", f"{server.url}{server.path}", "-ca", str(server.authority)]
        command = [str(self.programs / program), *where, "-body", str(self.file(review)), *flags]
        try:
            done = subprocess.run(command, check=True, capture_output=True, timeout=seconds + SLACK)
        except subprocess.CalledProcessError as error:
            log = tail_of(server.process.log, 5)
            raise RuntimeError(f"{program}: {error.stderr.decode().strip()}\n{log}") from error
        return done.stdout
