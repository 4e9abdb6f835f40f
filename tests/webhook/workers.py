"""The webhook with several workers, to be killed; and people who write all the while."""

import http.client
import json
import os
import random
import signal
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from certs.files import Folder, issue_into
from tests.cluster.processes import (
    LOOPBACK,
    Process,
    children_of,
    free_ports,
    is_running,
    start,
)
from tests.webhook.builders import a_review

WORKERS = 2
WRITERS = 4
JSON = {"Content-Type": "application/json"}

KILLED_BEFORE_TLS = pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")
"""A peer that resets between TCP and TLS makes Python's own `wrap_socket` leave its socket open."""


class Webhook:
    """One webhook that can be killed in part or as a whole, and started again as it was."""

    def __init__(
        self,
        folder: Path,
        ledger: str,
        *arguments: str | Path,
        certificates: Folder | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.ledger = ledger
        self.log = folder / "webhook.log"
        self.certificates = certificates or issue_into(
            folder / "certs", [LOOPBACK], datetime.now(UTC)
        )
        self.tls = ssl.create_default_context(cafile=self.certificates.authority)
        self.path = f"/validate/{self.certificates.caller_token.read_text()}"
        [self.port] = free_ports(1)
        self._command = [
            sys.executable, "-m", "glasswarden", "webhook",
            "--bind", f"{LOOPBACK}:{self.port}", "--workers", str(WORKERS),
            "--certs", self.certificates.path, "--ledger", ledger, *arguments,
        ]  # fmt: skip
        self._environment = {**os.environ, **(environment or {})}
        self._process: Process | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start the webhook and wait for its first answer."""
        self._process = start(
            "webhook", self._command, log=self.log, environment=self._environment
        ).wait_until(self.answers)

    def answers(self) -> bool:
        with suppress(OSError, http.client.HTTPException), self.connected() as connection:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        return False

    @contextmanager
    def connected(self) -> Iterator[http.client.HTTPSConnection]:
        one = http.client.HTTPSConnection(LOOPBACK, self.port, context=self.tls, timeout=10)
        try:
            yield one
        finally:
            one.close()

    def workers(self) -> list[int]:
        """Return the ids of the processes that answer; those that have ended are not among them."""
        return [child for child in children_of(self.process.pid) if is_running(child)]

    def kill(self, count: int, chance: random.Random) -> int:
        """Kill so many workers, once all of them are there; return how many it were."""
        while len(workers := self.workers()) < WORKERS:
            assert self.process.running, self.log.read_text()[-2000:]
            time.sleep(0.005)
        victims = chance.sample(workers, count)
        for victim in victims:
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        # A process that is about to die still counts as running: its successor is not there yet.
        while any(map(is_running, victims)):
            time.sleep(0.001)
        return len(victims)

    def kill_all(self) -> None:
        """Kill the parent and all workers at once, as a machine that goes down does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        while self.process.running:
            time.sleep(0.005)

    def stop(self) -> None:
        """Ask the webhook to end, and wait for it."""
        if self._process is not None:
            self._process.stop()

    def tell_to_stop(self) -> None:
        """Ask the webhook to end, and wait for nothing."""
        os.kill(self.process.pid, signal.SIGTERM)

    def said(self, event: str) -> list[dict[str, Any]]:
        """Return what the log says under the name *event*."""
        lines = [line for line in self.log.read_text().splitlines() if f'"{event}"' in line]
        return [json.loads(line) for line in lines]


@dataclass
class Answers:
    """What the people who write were told."""

    recorded: dict[str, str] = field(default_factory=dict)
    """The digest of each record that was acknowledged, by its id."""

    unrecorded: int = 0
    """Writes that were allowed without a record."""

    unavailable: int = 0
    """Writes that were refused for want of a record."""

    failed: int = 0
    """Requests that nobody answered."""

    def note(self, status: int, body: bytes) -> None:
        if status != http.HTTPStatus.OK:
            self.failed += 1
            return
        response = json.loads(body)["response"]
        if audit := response.get("auditAnnotations"):
            self.recorded[audit["record"]] = audit["chain"]
        elif response["allowed"]:
            self.unrecorded += 1
        else:
            self.unavailable += 1


@contextmanager
def load_on(webhook: Webhook, writers: int = WRITERS) -> Iterator[Answers]:
    """Have people write until the block ends; the answers are complete then."""
    stop = threading.Event()
    told = [Answers() for _ in range(writers)]
    threads = [threading.Thread(target=_write, args=(webhook, stop, each)) for each in told]
    for thread in threads:
        thread.start()
    total = Answers()
    try:
        yield total
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for each in told:
            total.recorded |= each.recorded
            total.unrecorded += each.unrecorded
            total.unavailable += each.unavailable
            total.failed += each.failed


def _write(webhook: Webhook, stop: threading.Event, answers: Answers) -> None:
    review = a_review()
    while not stop.is_set():
        try:
            with webhook.connected() as connection:
                while not stop.is_set():
                    connection.request("POST", webhook.path, review, JSON)
                    response = connection.getresponse()
                    answers.note(response.status, response.read())
        except (OSError, http.client.HTTPException):
            answers.failed += 1
            stop.wait(0.01)
