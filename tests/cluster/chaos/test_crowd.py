"""More writers than anybody planned for: 500 at once, and a controller that never stops."""

import asyncio
import base64
import json
import ssl
import statistics
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.chaos import Note
from tests.cluster.chaos.stand import Stand, deploy, new_stand
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kubectl import Caller
from tests.cluster.load import Tally, count, repeating, writing
from tests.cluster.processes import LOOPBACK
from tests.cluster.retries import eventually
from tests.webhook.workers import Webhook

CROWD = 500
NAMES = tuple(f"web-{number}" for number in range(10))
MOST_MEGABYTES = 512
"""The limit that manifests/base sets for a pod."""
HOT = 6
PERSON_WRITES = 30


@pytest.fixture
def stand(cluster: ControlPlane, tmp_path: Path, flux_account: Caller, namespace: str) -> Stand:
    deploy(flux_account, namespace, *NAMES)
    return new_stand(cluster, tmp_path)


class Watcher:
    """Looks at a webhook's health and memory, again and again."""

    def __init__(self, webhook: Webhook) -> None:
        self.looked = 0
        self.well = 0
        self.megabytes = 0.0
        self._webhook = webhook
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    @contextmanager
    def watching(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            self.looked += 1
            self.well += self._webhook.answers()
            self.megabytes = max(self.megabytes, memory_of(self._webhook))


def memory_of(webhook: Webhook) -> float:
    """Return the megabytes that the parent and its workers hold, shared pages counted once."""
    pids = [webhook.process.pid, *webhook.workers()]
    return sum(map(proportional, pids)) / 1000


def proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def test_five_hundred_concurrent_writes_are_all_denied_by_the_policy(
    stand: Stand, namespace: str, chaos: Note
) -> None:
    replica = stand.replica()
    watcher = Watcher(replica)
    with replica, stand.asked_at(replica.port), watcher.watching():
        before = memory_of(replica)
        answers, put_off = asyncio.run(crowd(stand, namespace))
        eventually(lambda: watcher.looked > 5, "a look at it")
    refused = sum(n for (status, ours), n in answers.items() if status == 403 and ours)
    chaos(
        f"{CROWD} guarded writes at once",
        answered=sum(answers.values()),
        refused_by_the_rules=refused,
        put_off_by_the_API_server=put_off,
        memory_before_MB=before,
        memory_at_most_MB=watcher.megabytes,
        health_checks=watcher.looked,
        of_them_well=watcher.well,
    )
    assert refused == CROWD, answers
    assert watcher.well == watcher.looked
    assert watcher.megabytes < MOST_MEGABYTES


async def crowd(stand: Stand, namespace: str) -> tuple[Counter[tuple[int, bool]], int]:
    """Have people patch, each over a connection of their own.

    Return the answers, counted by their kind, and how often the API server put somebody off.
    """
    tls = client_context(stand.cluster.kubeconfig("outsider"))
    port = urlsplit(stand.cluster.server).port or 0
    gate, put_off = asyncio.Event(), list[int]()

    async def one(number: int) -> tuple[int, bool]:
        reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=tls)
        await gate.wait()
        status, body = 429, b""
        # The API server's own fairness sends some away for a second; clients come again.
        while status == 429:
            writer.write(patch_request(namespace, NAMES[number % len(NAMES)], number))
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split()[0])
            body = await reader.readexactly(length)
            status = int(head.split()[1])
            if status == 429:
                put_off.append(number)
                await asyncio.sleep(1)
        writer.close()
        await writer.wait_closed()
        return status, b"this direct write is refused" in body

    tasks = [asyncio.create_task(one(number)) for number in range(CROWD)]
    await asyncio.sleep(5)
    gate.set()
    return Counter(await asyncio.gather(*tasks)), len(put_off)


def patch_request(namespace: str, name: str, number: int) -> bytes:
    operation = {"op": "add", "path": "/metadata/annotations/crowd", "value": str(number)}
    body = json.dumps([operation])
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    lines = (
        f"PATCH {path} HTTP/1.1",
        f"Host: {LOOPBACK}",
        "Content-Type: application/json-patch+json",
        "Accept-Encoding: identity",
        f"Content-Length: {len(body)}",
    )
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def client_context(kubeconfig: Path) -> ssl.SSLContext:
    """Return the TLS context of whoever *kubeconfig* is for."""
    content = json.loads(kubeconfig.read_text())
    authority = base64.b64decode(content["clusters"][0]["cluster"]["certificate-authority-data"])
    user = content["users"][0]["user"]
    context = ssl.create_default_context(cadata=authority.decode())
    for name in ("certificate", "key"):
        file = kubeconfig.parent / f"crowd.{name}"
        file.write_bytes(base64.b64decode(user[f"client-{name}-data"]))
    context.load_cert_chain(
        kubeconfig.parent / "crowd.certificate", kubeconfig.parent / "crowd.key"
    )
    return context


def test_controller_in_a_hot_loop_fails_no_write_of_a_person(
    stand: Stand, namespace: str, chaos: Note
) -> None:
    """It is denied as fast as it asks; a person who writes meanwhile is served as ever."""
    replica = stand.replica()
    watcher = Watcher(replica)
    person = writing(stand.objects("developer"), namespace, NAMES[0])
    with replica, stand.asked_at(replica.port), watcher.watching():
        alone, meanwhile = Tally(), Tally()
        for _ in range(PERSON_WRITES):
            count(person, alone)
        loop = [writing(stand.objects("outsider"), namespace, name) for name in NAMES[1 : HOT + 1]]
        with repeating(*loop) as hot:
            for _ in range(PERSON_WRITES):
                count(person, meanwhile)
    chaos(
        "a controller in a hot loop",
        its_writes=sum(tally.calls for tally in hot),
        refused=sum(len(tally.failures) for tally in hot),
        a_persons_writes=meanwhile.calls,
        failed=len(meanwhile.failures),
        persons_median_alone_ms=1000 * statistics.median(alone.seconds),
        persons_median_meanwhile_ms=1000 * statistics.median(meanwhile.seconds),
        persons_longest_ms=1000 * max(meanwhile.seconds),
        memory_at_most_MB=watcher.megabytes,
    )
    assert (alone.failures, meanwhile.failures) == ([], [])
    assert all(len(tally.failures) == tally.calls > 0 for tally in hot)
    assert watcher.well == watcher.looked
    assert watcher.megabytes < MOST_MEGABYTES
