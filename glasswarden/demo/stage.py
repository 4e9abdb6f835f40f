"""The environment of the demo: the webhook's process and clock, a recorded cluster, a folder.

The webhook's clock shows the time of the story. The recorded cluster serves the few GET requests
that the webhook sends to an API server: the parent of a `scale`, the grant of a Namespace, the
source of an application in Git. There is nothing to list or to watch, so the webhook reads
directly, as it does on a cluster whose watch is broken.
"""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, TypeAlias

from certs.files import Folder, issue_into
from glasswarden.demo.story import Door, Response, StageFailed, parse_answer
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.ledger.open import keys_beside

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

    def path_of(self, door: Door = "validate") -> str:
        """Return a path that only an API server would know."""
        return f"/{door}/{self.certificates.caller_token.read_text()}"

    def ask(self, door: Door, review: bytes) -> Response:
        """Send *review* as an API server would, and return what the webhook answers."""
        headers = {"Content-Type": "application/json"}
        status, body = _send_request(self, "POST", self.path_of(door), review, headers)
        if status != http.HTTPStatus.OK:
            raise StageFailed(f"the webhook answered {status}: {body.decode(errors='replace')}")
        return parse_answer(body)


Start: TypeAlias = Callable[[str, Folder], list[str]]
"""Which module to run, with its arguments, for an address to listen on and certificates."""


@contextmanager
def open_stage(folder: Path, start: Start, port: int | None = None) -> Iterator[Stage]:
    """Start the webhook with certificates and a log in *folder*; stop it at the end."""
    certificates = issue_into(folder / "certs", [HOST, "localhost"], datetime.now(UTC))
    stage = Stage(port or _find_free_port(), folder, certificates)
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
            raise StageFailed(f"the webhook ended at once; {log} says:\n{_read_tail(log)}")
        try:
            status, _ = _send_request(stage, "GET", "/readyz")
        except OSError:
            time.sleep(0.05)
            continue
        if status == http.HTTPStatus.OK:
            return
    raise StageFailed(f"the webhook was not ready after {START_SECONDS:.0f} s; see {log}")


def _send_request(
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


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _read_tail(log: Path, lines: int = 5) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


@dataclass(frozen=True, slots=True)
class StoryClock:
    """A file that holds a moment; one process sets it, another goes by it."""

    file: Path

    def __call__(self) -> datetime:
        """Return the moment that is being told."""
        return datetime.fromisoformat(self.file.read_text())

    def set(self, time: datetime) -> None:
        """Let it be *time*."""
        coming = self.file.with_suffix(".next")
        coming.write_text(time.isoformat())
        # At once, so that nobody reads half a moment.
        coming.replace(self.file)


_PLURALS: Final = {"GitRepository": "gitrepositories"}


class RecordedCluster:
    """Objects by their address; a newer one takes the place of an older."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._answers: dict[str, Any] = {}
        for obj in objects:
            self.take(obj)

    def take(self, obj: Object) -> None:
        """Have *obj* be what is stored."""
        ref = ref_of(obj)
        root = f"/apis/{ref.group}/{ref.version}" if ref.group else f"/api/{ref.version}"
        known = self._answers.setdefault(root, {"resources": []})["resources"]
        known.append({"name": _plural_of(ref), "kind": ref.kind})
        within = f"/namespaces/{ref.namespace}" if ref.namespace else ""
        self._answers[f"{root}{within}/{_plural_of(ref)}/{ref.name}"] = obj

    def find(self, path: str) -> Any | None:  # noqa: ANN401 - an object, or a list of resources
        """Return what stands at *path*."""
        return self._answers.get(path)


@contextmanager
def serve_cluster(cluster: RecordedCluster, kubeconfig: Path) -> Iterator[None]:
    """Serve *cluster* on loopback until the end of the block; *kubeconfig* tells where."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = cluster.find(self.path)
            body = json.dumps(found if found is not None else {}).encode()
            self.send_response(HTTPStatus.NOT_FOUND if found is None else HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the story is what is to be seen."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        server.daemon_threads = True
        kubeconfig.write_text(json.dumps(_new_kubeconfig(f"http://{HOST}:{server.server_port}")))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


def _plural_of(ref: Ref) -> str:
    return _PLURALS.get(ref.kind, f"{ref.kind.lower()}s")


def _new_kubeconfig(url: str) -> dict[str, Any]:
    name = "recorded"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": url}}],
        "users": [{"name": name, "user": {}}],
    }


@dataclass(frozen=True, slots=True)
class Layout:
    """The folder, by what is in it."""

    folder: Path

    @property
    def webhook(self) -> Path:
        """What belongs to the webhook alone: its certificates, its log and the following."""
        return self.folder / "webhook"

    @property
    def keys(self) -> Path:
        """The keys that sign the ledger and the grants."""
        return keys_beside(self.ledger)

    @property
    def spool(self) -> Path:
        """Where records would wait for the ledger."""
        return self.webhook / "spool"

    @property
    def clock(self) -> Path:
        """The moment that is being told."""
        return self.webhook / "clock"

    @property
    def kubeconfig(self) -> Path:
        """How the webhook reaches the recorded cluster."""
        return self.webhook / "kubeconfig"

    @property
    def policy(self) -> Path:
        """The rules that it goes by."""
        return self.folder / "policy.yaml"

    @property
    def ledger(self) -> str:
        """The ledger's address."""
        return f"sqlite://{self.folder.resolve()}/ledger.db"

    @property
    def live(self) -> Path:
        """The application's objects at the end of the story."""
        return self.folder / "live"

    @property
    def mended(self) -> Path:
        """The application's objects when Git had taken over what was to stay."""
        return self.folder / "mended"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log."""
        return self.folder / "audit.log"

    @property
    def repository(self) -> Path:
        """A clone of the application's Git repository."""
        return self.folder / "git"
