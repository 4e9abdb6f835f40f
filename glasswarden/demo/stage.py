"""The stage of the demo: the real webhook as a process of its own, and a client beside it."""

import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

from certs.folder import Folder, issue_into
from glasswarden.demo.errors import StageFailed
from glasswarden.demo.retelling import Response, parse_answer
from glasswarden.demo.story import Door

HOST: Final = "127.0.0.1"
START_SECONDS: Final = 20.0
STOP_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A running webhook, with what is needed to ask it."""

    port: int
    folder: Path
    certificates: Folder

    @property
    def url(self) -> str:
        """Where the webhook listens."""
        return f"https://{HOST}:{self.port}"

    def path(self, door: Door = "validate") -> str:
        """Return a path that only an API server would know."""
        return f"/{door}/{self.certificates.caller_token.read_text()}"

    def ask(self, door: Door, review: bytes) -> Response:
        """Send *review* as an API server would, and return what the webhook answers."""
        headers = {"Content-Type": "application/json"}
        status, body = _request(self, "POST", self.path(door), review, headers)
        if status != http.HTTPStatus.OK:
            raise StageFailed(f"the webhook answered {status}: {body.decode(errors='replace')}")
        return parse_answer(body)


Start: TypeAlias = Callable[[str, Folder], list[str]]
"""Which module to run, with its arguments, for an address to listen on and certificates."""


@contextmanager
def open_stage(folder: Path, start: Start, port: int | None = None) -> Iterator[Stage]:
    """Start the webhook with certificates and a log in *folder*; stop it at the end."""
    certificates = issue_into(folder / "certs", [HOST, "localhost"], datetime.now(UTC))
    stage = Stage(port or _free_port(), folder, certificates)
    log = folder / "webhook.log"
    process = _start(start(f"{HOST}:{stage.port}", certificates), log)
    try:
        _wait_until_ready(stage, process, log)
        yield stage
    finally:
        _stop(process)


def _start(module: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        # A session of its own: Ctrl-C reaches the story, which then stops the webhook in order.
        return subprocess.Popen(  # noqa: S603 - our own program, our own arguments
            [sys.executable, "-m", *module],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_until_ready(stage: Stage, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise StageFailed(f"the webhook ended at once; {log} says:\n{_tail(log)}")
        try:
            status, _ = _request(stage, "GET", "/readyz")
        except OSError:
            time.sleep(0.05)
            continue
        if status == http.HTTPStatus.OK:
            return
    raise StageFailed(f"the webhook was not ready after {START_SECONDS:.0f} s; see {log}")


def _request(
    stage: Stage,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, bytes]:
    context = ssl.create_default_context(cafile=stage.certificates.authority)
    connection = http.client.HTTPSConnection(HOST, stage.port, context=context, timeout=10)
    with closing(connection):
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read()


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _tail(log: Path, lines: int = 5) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
