"""The product on one machine, for a local cluster: certificates, SQLite, a webhook by URL.

What is registered is taken off again before the webhook ends, whatever ends it; a process that is
killed outright cannot do that, and `glasswarden uninstall --registration-only` does it instead.
"""

import http.client
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from certs.authority import normalize_hosts
from certs.configurations import OURS
from certs.files import Folder, StateUnreadable, issue_into
from certs.rotation import is_due
from glasswarden.cluster.client import ApiServer, ApiServerError
from glasswarden.policy.policy import Policy
from webhook.registration.configurations import Endpoint, configurations

START_SECONDS: Final = 20.0
STOP_SECONDS: Final = 10.0
FORGET_SECONDS: Final = 15.0


class NotStarted(Exception):
    """The webhook did not start; the message ends with its last log lines."""


class StillAsked(Exception):
    """The registration could not be taken off: the API server goes on asking nobody."""


@dataclass(frozen=True, slots=True)
class Local:
    """Where a local webhook keeps its things, and where the API server finds it."""

    folder: Path
    host: str
    port: int

    @property
    def url(self) -> str:
        """What the API server calls."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"

    @property
    def bind(self) -> str:
        """What the webhook listens on: no more than it must."""
        return f"{self.host if _is_loopback(self.host) else '0.0.0.0'}:{self.port}"  # noqa: S104

    @property
    def ledger(self) -> str:
        """The address of the ledger."""
        return f"sqlite://{self.folder.resolve()}/ledger.db"

    @property
    def log(self) -> Path:
        """Where the webhook's log goes."""
        return self.folder / "webhook.log"

    @property
    def correlator_log(self) -> Path:
        """Where the correlator's log goes."""
        return self.folder / "correlator.log"


def certificates_for(local: Local, now: datetime) -> Folder:
    """Return the certificates in the folder; new ones where there are none, or old ones."""
    folder, hosts = Folder(local.folder / "certs"), normalize_hosts([local.host])
    try:
        state = folder.read()
    except StateUnreadable:
        state = None
    if state is None or is_due(state, hosts, now):
        return issue_into(folder.path, hosts, now)
    return folder


@contextmanager
def serving(
    local: Local, certificates: Folder, policy: Path | None, connection: Sequence[str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run the webhook from its first answer to the end of the block."""
    arguments = ["webhook", "--bind", local.bind, "--certs", str(certificates.path)]
    process = _start(local, local.log, arguments, policy, connection)
    try:
        _wait_until_ready(local, certificates, process)
        yield process
    finally:
        _stop(process)


@contextmanager
def correlating(
    local: Local, policy: Path | None, connection: Sequence[str], repositories: Sequence[str]
) -> Iterator[None]:
    """Run the correlator to the end of the block; should it end before, the guard goes on."""
    # Port 0: any that is free. What it finds is read from the ledger.
    arguments = ["correlator", "--listen", "127.0.0.1:0"]
    for each in repositories:
        arguments += ["--git", each]
    process = _start(local, local.correlator_log, arguments, policy, connection)
    try:
        yield
    finally:
        _stop(process)


def _start(
    local: Local, log: Path, arguments: list[str], policy: Path | None, connection: Sequence[str]
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "glasswarden", *arguments, "--ledger", local.ledger]
    command += ["--policy", str(policy)] if policy else []
    command += connection
    with log.open("ab") as output:
        # A session of its own: Ctrl-C reaches us, who take the registration off first.
        return subprocess.Popen(  # noqa: S603 - our own program, our own arguments
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )


@contextmanager
def registered_locally(
    local: Local, certificates: Folder, server: ApiServer, policy: Policy
) -> Iterator[None]:
    """Have the API server ask the webhook until the end of the block."""
    token, bundle = certificates.read_caller_token(), certificates.authority.read_bytes()
    both = configurations(policy, Endpoint(local.url, bundle, token))
    try:
        for which, configuration in zip(OURS, both, strict=True):
            server.apply(which.path, configuration)
        yield
    finally:
        ask_no_more(server)


def ask_no_more(server: ApiServer) -> None:
    """Take the registration off; an API server that just restarts is waited for."""
    deadline = time.monotonic() + FORGET_SECONDS
    left = {which.path for which in OURS}
    while left:
        for path in sorted(left, reverse=True):
            try:
                server.delete(path)
                left.discard(path)
            except ApiServerError as error:
                if time.monotonic() > deadline:
                    advice = "glasswarden uninstall --registration-only"
                    raise StillAsked(f"{path} is still there: {error}\nTry: {advice}") from error
        if left:
            time.sleep(0.5)


def _wait_until_ready(local: Local, certificates: Folder, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if _answers(local, certificates):
            return
        time.sleep(0.1)
    lines = local.log.read_text(errors="replace").splitlines()[-5:]
    raise NotStarted("the webhook did not start; its log ends with:\n" + "\n".join(lines))


def _answers(local: Local, certificates: Folder) -> bool:
    context = ssl.create_default_context(cafile=certificates.authority)
    # Under whichever name the API server will call it, it is on this machine.
    context.check_hostname = False
    near = local.host if _is_loopback(local.host) else "127.0.0.1"
    connection = http.client.HTTPSConnection(near, local.port, context=context, timeout=5)
    with closing(connection):
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "127.0.0.1", "::1")
