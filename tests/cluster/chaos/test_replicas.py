"""One of two replicas goes, in order or not, or comes back as another version."""

import random
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.chaos import Note
from tests.cluster.chaos.balancer import Balancer
from tests.cluster.chaos.stand import Stand, deploy, new_stand
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kubectl import Caller
from tests.cluster.load import Tally, repeating, writing
from tests.cluster.retries import eventually
from tests.webhook.workers import Webhook

ROOT = Path(__file__).parents[3]
NAMES = tuple(f"web-{number}" for number in range(4))
ROUNDS = 4
DRAIN_SECONDS = 1.0
"""What preStop sleeps: our balancer learns of an end at once, so this need not be ten."""


@pytest.fixture
def stand(cluster: ControlPlane, tmp_path: Path, flux_account: Caller, namespace: str) -> Stand:
    deploy(flux_account, namespace, *NAMES)
    return new_stand(cluster, tmp_path)


@contextmanager
def two_replicas(
    stand: Stand, namespace: str
) -> Iterator[tuple[Balancer, list[Webhook], list[Tally]]]:
    """Run two replicas behind a balancer, under the load of people who write."""
    with ExitStack() as stack:
        balancer = stack.enter_context(Balancer())
        replicas = [stack.enter_context(stand.replica(name)) for name in ("one", "two")]
        for each in replicas:
            balancer.add(each.port, each.answers)
        stack.enter_context(stand.asked_at(balancer.port))
        acts = [writing(stand.objects("developer"), namespace, name) for name in NAMES]
        tallies = stack.enter_context(repeating(*acts))
        time.sleep(1)
        yield balancer, replicas, tallies


def take_down(balancer: Balancer, replica: Webhook) -> None:
    """End a replica as Kubernetes does: off the Service, preStop, SIGTERM, and wait."""
    balancer.remove(replica.port)
    time.sleep(DRAIN_SECONDS)
    replica.stop()


def bring_up(balancer: Balancer, replica: Webhook) -> None:
    replica.start()
    balancer.add(replica.port, replica.answers)


def some_more(tallies: list[Tally], writes: int = 10) -> None:
    """Wait until everybody has written some more."""
    wanted = [tally.calls + writes for tally in tallies]
    pairs = list(zip(tallies, wanted, strict=True))
    eventually(lambda: all(tally.calls >= count for tally, count in pairs), "more writes")


def failures_of(tallies: list[Tally]) -> list[str]:
    return [failure for tally in tallies for failure in tally.failures]


def writes_of(tallies: list[Tally]) -> int:
    return sum(tally.calls for tally in tallies)


def test_rolling_restart_fails_no_guarded_write(stand: Stand, namespace: str, chaos: Note) -> None:
    with two_replicas(stand, namespace) as (balancer, replicas, tallies):
        for _ in range(ROUNDS):
            for replica in replicas:
                take_down(balancer, replica)
                some_more(tallies)
                bring_up(balancer, replica)
                some_more(tallies)
    chaos(
        "rolling restart of two replicas",
        restarts=2 * ROUNDS,
        guarded_writes=writes_of(tallies),
        failed=len(failures_of(tallies)),
    )
    assert failures_of(tallies) == []


def test_sigterm_while_the_service_still_sends_fails_no_guarded_write(
    stand: Stand, namespace: str, chaos: Note
) -> None:
    """SIGTERM without a preStop before it: the Service learns of the end by the probe alone."""
    with two_replicas(stand, namespace) as (balancer, replicas, tallies):
        for _ in range(ROUNDS):
            for replica in replicas:
                replica.stop()
                some_more(tallies)
                balancer.remove(replica.port)
                bring_up(balancer, replica)
                some_more(tallies)
    chaos(
        "SIGTERM while the Service still sends",
        stops=2 * ROUNDS,
        guarded_writes=writes_of(tallies),
        failed=len(failures_of(tallies)),
    )
    assert failures_of(tallies) == []


def test_upgrade_to_another_version_fails_no_guarded_write(
    stand: Stand, namespace: str, chaos: Note
) -> None:
    new = stand.folder / "new"
    another_version(new, "99.0.0")
    environment = {"PYTHONPATH": str(new), "PYTHONSAFEPATH": "1"}
    with ExitStack() as stack, two_replicas(stand, namespace) as (balancer, old, tallies):
        for number, replica in enumerate(old):
            upgraded = stand.replica(f"new-{number}", environment=environment)
            stack.callback(upgraded.stop)
            bring_up(balancer, upgraded)
            some_more(tallies)
            assert version_of(upgraded) == "99.0.0"
            take_down(balancer, replica)
            some_more(tallies)
    chaos(
        "upgrade of two replicas to a new version",
        guarded_writes=writes_of(tallies),
        failed=len(failures_of(tallies)),
    )
    assert failures_of(tallies) == []


def another_version(folder: Path, version: str) -> None:
    """Copy the product to *folder*, under another version."""
    for package in ("glasswarden", "webhook", "certs"):
        shutil.copytree(ROOT / package, folder / package)
    head = folder / "glasswarden" / "__init__.py"
    head.write_text(re.sub(r'__version__ = ".*"', f'__version__ = "{version}"', head.read_text()))


def version_of(replica: Webhook) -> str:
    with replica.connected() as connection:
        connection.request("GET", "/version")
        found = re.search(rb'"version":\s*"([^"]+)"', connection.getresponse().read())
    return found[1].decode() if found else ""


def test_killed_worker_fails_only_the_calls_it_was_answering(
    stand: Stand, namespace: str, chaos: Note
) -> None:
    """No call is sent a second time."""
    chance = random.Random(20260303)  # noqa: S311 - the same order every time
    with two_replicas(stand, namespace) as (_, replicas, tallies):
        for replica in replicas * ROUNDS:
            replica.kill(1, chance)
            some_more(tallies)
    kills = 2 * ROUNDS
    chaos(
        "a worker killed outright (SIGKILL)",
        kills=kills,
        guarded_writes=writes_of(tallies),
        failed_in_its_hands=len(failures_of(tallies)),
    )
    assert len(failures_of(tallies)) <= kills * len(NAMES)
    assert_only_calls_failed(tallies)


def test_killed_replica_fails_calls_only_until_the_service_notices(
    stand: Stand, namespace: str, chaos: Note
) -> None:
    noticing = 0
    with two_replicas(stand, namespace) as (balancer, replicas, tallies):
        for replica in replicas * ROUNDS:
            before = len(failures_of(tallies))
            replica.kill_all()
            eventually(lambda: replica.port not in balancer.ready, "the Service to notice")  # noqa: B023
            # Whoever was sent there just before may still be on the way.
            some_more(tallies, 2)
            noticing += len(failures_of(tallies)) - before
            some_more(tallies)
            bring_up(balancer, replica)
            some_more(tallies)
    chaos(
        "one of two replicas killed outright (SIGKILL)",
        kills=2 * ROUNDS,
        guarded_writes=writes_of(tallies),
        failed_until_the_service_noticed=noticing,
        failed_afterwards=len(failures_of(tallies)) - noticing,
    )
    assert len(failures_of(tallies)) == noticing
    assert_only_calls_failed(tallies)


def assert_only_calls_failed(tallies: list[Tally]) -> None:
    others = [each for each in failures_of(tallies) if "failed calling webhook" not in each]
    assert others == []
