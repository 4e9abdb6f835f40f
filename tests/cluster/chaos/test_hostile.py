"""Attackers reach the port: they are rejected in time, and no other caller is affected."""

import http.client
import os
import random
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.chaos import Note
from tests.cluster.chaos.stand import Stand, deploy, new_stand
from tests.cluster.chaos.test_crowd import memory_of
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kubectl import Caller
from tests.cluster.load import repeating, writing
from tests.cluster.processes import LOOPBACK
from tests.cluster.retries import eventually
from tests.webhook.workers import Webhook

MANY = 200
MEGABYTE = 1_000_000
MOST_MEGABYTES = 512


@pytest.fixture
def stand(cluster: ControlPlane, tmp_path: Path, flux_account: Caller, namespace: str) -> Stand:
    deploy(flux_account, namespace, "web", "api")
    return new_stand(cluster, tmp_path)


def plain(webhook: Webhook) -> socket.socket:
    return socket.create_connection((LOOPBACK, webhook.port), timeout=30)


def secured(webhook: Webhook) -> ssl.SSLSocket:
    caller = plain(webhook)
    try:
        return webhook.tls.wrap_socket(caller, server_hostname=LOOPBACK)
    except OSError:
        caller.close()
        raise


@contextmanager
def unfinished_requests(webhook: Webhook) -> Iterator[str]:
    """Slowloris: a header at a time, and never the last one."""
    with ExitStack() as stack:
        callers = [stack.enter_context(secured(webhook)) for _ in range(MANY)]
        for caller in callers:
            caller.sendall(f"POST {webhook.path} HTTP/1.1\r\nHost: x\r\n".encode())
        ended = threading.Event()
        dribble = threading.Thread(target=_dribble, args=(callers, ended), daemon=True)
        dribble.start()
        try:
            yield f"{MANY} open"
        finally:
            ended.set()
            dribble.join()


def _dribble(callers: list[ssl.SSLSocket], ended: threading.Event) -> None:
    while not ended.wait(0.5):
        for caller in callers:
            with suppress(OSError):
                caller.sendall(b"X-More: 1\r\n")


@contextmanager
def silent_handshakes(webhook: Webhook) -> Iterator[str]:
    with ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(plain(webhook))
        yield f"{MANY} open"


@contextmanager
def garbage(webhook: Webhook) -> Iterator[str]:
    chance = random.Random(20260304)  # noqa: S311 - the same garbage every time
    for _ in range(MANY):
        with plain(webhook) as caller, suppress(OSError):
            caller.sendall(b"\x16\x03\x01" + chance.randbytes(400))
            caller.settimeout(0.2)
            caller.recv(100)
    yield f"{MANY} sent"


@contextmanager
def large_bodies(webhook: Webhook) -> Iterator[str]:
    """Send 100 MB to the right path, and go on although they were refused."""
    answers = {_send_large(webhook) for _ in range(3)}
    assert answers <= {b"HTTP/1.1 413", b""}, answers
    yield "refused with 413"


def _send_large(webhook: Webhook) -> bytes:
    sent, piece = 0, b" " * 65536
    head = f"POST {webhook.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with secured(webhook) as caller, suppress(OSError):
        caller.sendall(f"{head}Content-Length: {100 * MEGABYTE}\r\n\r\n".encode())
        while sent < 100 * MEGABYTE:
            caller.sendall(piece)
            sent += len(piece)
        return caller.recv(12)
    return b""


@contextmanager
def header_bombs(webhook: Webhook) -> Iterator[str]:
    statuses = {
        _send_headers(webhook, headers) for headers in (("X-Big", 1, 1 << 20), ("X", 5000, 64))
    }
    assert statuses <= {400, 431, 0}, statuses
    yield "refused"


def _send_headers(webhook: Webhook, shape: tuple[str, int, int]) -> int:
    name, count, size = shape
    with webhook.connected() as one:
        try:
            one.putrequest("POST", webhook.path)
            for number in range(count):
                one.putheader(f"{name}-{number}", "x" * size)
            one.endheaders()
            return one.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0


@contextmanager
def strangers(webhook: Webhook) -> Iterator[str]:
    """Ask for reviews under paths that are guessed."""
    for _ in range(MANY):
        with webhook.connected() as one:
            one.request("POST", f"/validate/{os.urandom(16).hex()}", b"{}")
            assert one.getresponse().status == http.HTTPStatus.FORBIDDEN
    yield f"{MANY} turned away"


ATTACKS = {
    "slowloris": unfinished_requests,
    "connections without a handshake": silent_handshakes,
    "TLS garbage": garbage,
    "bodies of 100 MB": large_bodies,
    "header bombs": header_bombs,
    "no caller token": strangers,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attack_on_the_port_affects_no_other_caller(
    stand: Stand, namespace: str, chaos: Note, attack: str
) -> None:
    replica = stand.replica()
    with replica, stand.asked_at(replica.port):
        before = memory_of(replica)
        acts = [writing(stand.objects("developer"), namespace, name) for name in ("web", "api")]
        with repeating(*acts) as tallies:
            with ATTACKS[attack](replica) as outcome:
                wanted = [tally.calls + 10 for tally in tallies]
                eventually(
                    lambda: all(t.calls > n for t, n in zip(tallies, wanted, strict=True)),
                    "others to be served",
                )
                during = memory_of(replica)
            health = replica.answers()
    chaos(
        f"hostile: {attack}",
        outcome=outcome,
        writes_of_others=sum(tally.calls for tally in tallies),
        failed=sum(len(tally.failures) for tally in tallies),
        longest_wait_s=max(second for tally in tallies for second in tally.seconds),
        memory_MB=f"{before:.0f} → {during:.0f}",
    )
    assert [tally.failures for tally in tallies] == [[], []]
    assert health
    assert during < MOST_MEGABYTES
