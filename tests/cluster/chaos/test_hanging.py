"""The webhook is slow or stopped: the API server's time-out applies, and the webhook recovers."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos import Note
from tests.cluster.api import api_server
from tests.cluster.applications import deployment
from tests.cluster.chaos.balancer import Balancer
from tests.cluster.chaos.stand import Stand, deploy, new_stand
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kubectl import Caller
from tests.cluster.load import Tally, count, repeating, writing
from tests.cluster.retries import eventually
from tests.webhook.workers import Webhook

NAMES = tuple(f"web-{number}" for number in range(20))
ROUNDS = 3
SLOW = 1.0


@pytest.fixture
def stand(cluster: ControlPlane, tmp_path: Path, flux_account: Caller, namespace: str) -> Stand:
    deploy(flux_account, namespace, *NAMES, "reconciled")
    developer = cluster.as_("developer")
    developer.kubectl("create", "-f", "-", stdin=deployment("free", namespace))
    return new_stand(cluster, tmp_path)


@contextmanager
def stopped(webhook: Webhook) -> Iterator[None]:
    """Stop the parent and all workers, as a machine without CPU does, and let them go on."""
    os.killpg(webhook.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(webhook.process.pid, signal.SIGCONT)


def write_at_once(stand: Stand, namespace: str) -> Tally:
    """Have somebody write to each of the guarded Deployments, all at the same time."""
    tally = Tally()
    acts = [writing(stand.objects("developer"), namespace, name) for name in NAMES]
    with ThreadPoolExecutor(len(acts)) as pool:
        list(pool.map(lambda act: count(act, tally), acts))
    return tally


def passes(act: Callable[[], None]) -> bool:
    tally = Tally()
    count(act, tally)
    return not tally.failures


def test_stopped_webhook_fails_only_guarded_writes_until_it_continues(
    stand: Stand, flux_account: Caller, namespace: str, chaos: Note
) -> None:
    others = (
        writing(stand.objects("developer"), namespace, "free"),
        writing(api_server(flux_account.kubeconfig), namespace, "reconciled"),
    )
    replica = stand.replica()
    with replica, Balancer() as line:
        line.add(replica.port)
        with stand.asked_at(line.port):
            assert write_at_once(stand, namespace).failures == []
            with stopped(replica), repeating(*others) as meanwhile:
                rounds = [write_at_once(stand, namespace) for _ in range(ROUNDS)]
                waiting = line.connections
            write = writing(stand.objects("developer"), namespace, NAMES[0])
            eventually(lambda: passes(write), "the webhook to answer again")
            after = write_at_once(stand, namespace)
    failures = [failure for each in rounds for failure in each.failures]
    chaos(
        "webhook hangs (all its processes stopped)",
        guarded_writes=len(failures),
        longest_wait_s=max(second for each in rounds for second in each.seconds),
        connections_left_waiting=waiting,
        other_writes_meanwhile=sum(each.calls for each in meanwhile),
        of_them_failed=sum(len(each.failures) for each in meanwhile),
        failed_once_it_goes_on=len(after.failures),
    )
    assert len(failures) == ROUNDS * len(NAMES)
    assert {each for each in failures if "deadline exceeded" not in each} == set()
    # Each round's calls are hung up on; the next one's do not come on top.
    assert waiting <= 2 * len(NAMES)
    assert [each.failures for each in meanwhile] == [[], []]
    assert min(each.calls for each in meanwhile) > ROUNDS
    assert after.failures == []


def test_slow_webhook_fails_no_write(stand: Stand, namespace: str, chaos: Note) -> None:
    """An answer that comes late is an answer."""
    replica = stand.replica()
    with replica, Balancer() as line:
        line.add(replica.port)
        with stand.asked_at(line.port):
            # Connections stand from here on: a handshake would be slowed down several times.
            write_at_once(stand, namespace)
            line.delay = SLOW
            slow = write_at_once(stand, namespace)
            line.delay = 0.0
            after = write_at_once(stand, namespace)
    chaos(
        f"webhook slow ({SLOW:.0f} s on each piece of a request)",
        guarded_writes=slow.calls,
        failed=len(slow.failures),
        longest_wait_s=max(slow.seconds),
        longest_wait_afterwards_s=max(after.seconds),
    )
    assert (slow.failures, after.failures) == ([], [])
