"""Two replicas with one folder of keys: what one stamps, the other decides about.

The API server's mutating registration leads to one of them and its validating registration to the
other, so every stamp crosses from process to process.
"""

import itertools
import re
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import urllib3

from glasswarden.keys.folder import find_key_files, new_key
from glasswarden.policy.breakglass.annotations import decode_unverified
from glasswarden.policy.breakglass.tokens import Stamp
from tests.cluster.api import MERGE_PATCH, Api, WriteFailed
from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN, Guard, serving, webhook_configuration
from tests.cluster.kubectl import Caller, Result
from tests.cluster.retries import eventually

PREFIX = "breakglass.glasswarden.io/"
POLICY = """
breakGlass:
  rules:
    - {name: responders, groups: [oncall], ticket: "INC-[0-9]+", ttl: {longest: 4h}}
"""
ASK = {"reason": "checkout is down for everybody", "ticket": "INC-42", "ttl": "1h"}
SKEW = 30
SETTLING = 3.0
"""Seconds: what the product gives a new key to reach every replica is minutes."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two replicas."""

    one: Guard
    other: Guard

    @property
    def keys(self) -> Path:
        return self.one.keys

    @contextmanager
    def divided(self, *, swapped: bool = False) -> Iterator[None]:
        """Let one replica stamp and the other decide."""
        stamps, decides = (self.other, self.one) if swapped else (self.one, self.other)
        both = [_registration(stamps, "Mutating"), _registration(decides, "Validating")]
        cluster = self.one.cluster
        cluster.apply(both)
        try:
            yield
        finally:
            cluster.as_("admin").kubectl("delete", "-f", "-", stdin=both)


def _registration(guard: Guard, kind: str) -> dict[str, Any]:
    both: Any = webhook_configuration(guard.url, guard.certificates.authority, guard.policy)
    [found] = [each for each in both["items"] if each["kind"].startswith(kind)]
    return dict(found)


@contextmanager
def paired(
    cluster: ControlPlane, folder: Path, environment: dict[str, str] | None = None
) -> Iterator[Pair]:
    """Run two replicas; what is in *environment* is the other's alone."""
    for name in ("one", "other"):
        (folder / name).mkdir()
    variables = [f"{name}={text}" for name, text in (environment or {}).items()]
    program = ["/usr/bin/env", *variables, *GLASSWARDEN]
    with serving(cluster, folder / "one", POLICY) as one:
        shared = ("--keys", str(one.keys), "--ledger", one.ledger)
        with serving(cluster, folder / "other", POLICY, options=shared, program=program) as other:
            yield Pair(one, other)


@pytest.fixture(scope="module")
def pair(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with paired(cluster, tmp_path_factory.mktemp("pair")) as running:
        yield running


class Shop:
    """Flux's Deployments in a namespace, and what people do to them."""

    def __init__(self, cluster: ControlPlane, flux: Caller, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self._flux = flux
        self.responder = Api(cluster.as_("responder"))

    def deploy(self, name: str) -> None:
        manifest = by_flux(deployment(name, self.namespace), "shop")
        self._flux.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)

    def annotate(self, name: str, *options: str, **texts: str) -> Result:
        words = [f"{PREFIX}{key}={text}" for key, text in texts.items()]
        target = ("annotate", f"deployment/{name}", "--overwrite", "-n", self.namespace)
        return self.cluster.as_("responder").kubectl(*target, *words, *options, check=False)

    def break_glass(self, name: str, ttl: str = "1h") -> None:
        asked = self.annotate(name, **ASK | {"ttl": ttl})
        assert asked.returncode == 0, asked

    def change(self, name: str, value: object) -> None:
        """Change the object as the responder does; raises `WriteFailed`."""
        patch = {"metadata": {"labels": {"mended": str(value)}}}
        self.responder.patch(self._named(name), patch, "responder", MERGE_PATCH)

    def extend(self, name: str, number: int) -> None:
        """Mend once more and have the time changed, which takes a new stamp."""
        ttl = {f"{PREFIX}ttl": f"{60 + number % 2}m"}
        patch = {"metadata": {"labels": {"mended": str(number)}, "annotations": ttl}}
        self.responder.patch(self._named(name), patch, "responder", MERGE_PATCH)

    def refusal(self, name: str) -> str:
        """Return why the responder may not change the object; empty if they may."""
        try:
            self.change(name, time.monotonic_ns())
        except WriteFailed as error:
            return str(error)
        return ""

    def put(self, name: str, token: str) -> None:
        """Try to put a stamp onto the object; raises `WriteFailed`."""
        patch = {"metadata": {"annotations": {f"{PREFIX}grant": token}}}
        self.responder.patch(self._named(name), patch, "responder", MERGE_PATCH)

    def token(self, name: str) -> str:
        found = self.responder.get(self._named(name)) or {}
        return str(found["metadata"].get("annotations", {}).get(f"{PREFIX}grant", ""))

    def stamp(self, name: str) -> Stamp:
        stamp = decode_unverified(self.token(name), Stamp)
        assert stamp is not None
        return stamp

    def is_divided(self, stamps: Guard, decides: Guard) -> bool:
        """Return whether the API server asks each of them what it should."""
        before = decided_by(decides), decided_by(stamps), asked_of(stamps)
        tried = self.annotate("web", "--dry-run=server", **ASK).returncode
        after = decided_by(decides), decided_by(stamps), asked_of(stamps)
        grown = [now > then for then, now in zip(before, after, strict=True)]
        return tried == 0 and grown == [True, False, True]

    def _named(self, name: str) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}


def decided_by(guard: Guard) -> float:
    """Return how many validating reviews *guard* has answered."""
    return _figure(guard, "glasswarden_reviews_total")


def asked_of(guard: Guard) -> float:
    """Return how many reviews of either kind *guard* has answered."""
    return _figure(guard, "glasswarden_review_seconds_count")


def _figure(guard: Guard, name: str) -> float:
    tls = ssl.create_default_context(cafile=guard.certificates.authority)
    with urllib3.PoolManager(ssl_context=tls) as pool:
        text = pool.request("GET", f"{guard.url}/metrics").data.decode()
    values = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
    return sum(map(float, values))


@pytest.fixture
def shop(cluster: ControlPlane, flux_account: Caller, namespace: str) -> Shop:
    found = Shop(cluster, flux_account, namespace)
    found.deploy("web")
    return found


@contextmanager
def roles(pair: Pair, shop: Shop, *, swapped: bool = False) -> Iterator[None]:
    """Divide the work and wait until the API server has taken that up."""
    stamps, decides = (pair.other, pair.one) if swapped else (pair.one, pair.other)
    with pair.divided(swapped=swapped):
        eventually(lambda: shop.is_divided(stamps, decides), "both registrations")
        yield


def test_grant_of_one_replica_is_valid_on_the_other(pair: Pair, shop: Shop) -> None:
    with roles(pair, shop):
        assert "is managed by Flux" in shop.refusal("web")
        shop.break_glass("web")
        first = shop.stamp("web")
        assert shop.refusal("web") == ""
    with roles(pair, shop, swapped=True):
        assert shop.refusal("web") == ""
        assert shop.stamp("web").id == first.id
        assert shop.stamp("web").held == ("/metadata/labels/mended",)


@dataclass
class Load:
    """Responders who mend all the while, and somebody who forges."""

    shop: Shop
    names: list[str]
    written: int = 0
    failures: list[str] = field(default_factory=list)
    forged: int = 0
    accepted: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def mend(self, name: str) -> None:
        shop = Shop(self.shop.cluster, self.shop._flux, self.shop.namespace)
        number = 0
        while not self.stop.is_set():
            number += 1
            try:
                shop.extend(name, number)
                self.written += 1
            except WriteFailed as error:
                self.failures.append(str(error))

    def forge(self) -> None:
        shop = Shop(self.shop.cluster, self.shop._flux, self.shop.namespace)
        shop.deploy("victim")
        while not self.stop.is_set():
            for token in forgeries(shop.token(self.names[0])):
                self.forged += 1
                try:
                    shop.put("victim", token)
                    self.accepted.append(token)
                except WriteFailed:
                    pass

    @contextmanager
    def running(self) -> Iterator[None]:
        workers = [threading.Thread(target=self.mend, args=(name,)) for name in self.names]
        workers.append(threading.Thread(target=self.forge))
        for worker in workers:
            worker.start()
        try:
            yield
        finally:
            self.stop.set()
            for worker in workers:
                worker.join()


def forgeries(token: str) -> list[str]:
    """Return what somebody who can read *token* might make of it."""
    payload, key, signature = token.split(".")
    swapped = ("B" if payload[0] == "A" else "A") + payload[1:]
    return [
        token,  # moved to another object
        f"{swapped}.{key}.{signature}",
        f"{payload}.20200101T000000Z.{signature}",
        f"{payload}.{key}.{signature[::-1]}",
    ]


def rotate(keys: Path) -> str:
    """Make the next key by the product's command, and one whose time comes sooner."""
    command = [*GLASSWARDEN, "keys", "rotate", "--dir", str(keys)]
    subprocess.run(command, check=True, capture_output=True)
    return new_key(keys, "grant", datetime.now(UTC) + timedelta(seconds=SETTLING)).id


def key_of(token: str) -> str:
    return token.split(".")[1]


@pytest.mark.e2e
def test_key_rotation_under_load_loses_no_grant_and_accepts_no_forgery(
    pair: Pair, shop: Shop
) -> None:
    names = ["web", "api"]
    with roles(pair, shop):
        shop.deploy("api")
        for name in names:
            shop.break_glass(name)
        granted = {name: shop.stamp(name).id for name in names}
        load = Load(shop, names)
        with load.running():
            for _ in range(2):
                key = rotate(pair.keys)
                eventually(
                    lambda: {key_of(shop.token(name)) for name in names} == {key},  # noqa: B023
                    "the new key to sign",
                )
        assert load.failures == []
        assert {name: shop.stamp(name).id for name in names} == granted
        assert load.accepted == []
        assert load.written > len(names)
        assert load.forged > 0


def test_grants_of_a_revoked_key_end_on_both_replicas(pair: Pair, shop: Shop) -> None:
    shop.deploy("api")
    with roles(pair, shop):
        for name in ("web", "api"):
            shop.break_glass(name)
            # What is held already takes no new stamp, and so no newer key, when it changes again.
            shop.change(name, "first")
        old = key_of(shop.token("web"))
        newer = new_key(pair.keys, "grant", datetime.now(UTC) + timedelta(seconds=SETTLING)).id

        numbers = itertools.count()

        def is_renewed() -> bool:
            shop.extend("api", next(numbers))
            return key_of(shop.token("api")) == newer

        eventually(is_renewed, "the newer key to sign")
        for path in find_key_files(pair.keys, "grant"):
            if old in path.name:
                path.unlink()
        assert key_of(shop.token("web")) == old
        # Which of them notices first decides whether the dead stamp is named, or gone by then.
        eventually(lambda: "is managed by Flux" in shop.refusal("web"), "the revocation")
        assert shop.refusal("api") == ""
    with roles(pair, shop, swapped=True):
        assert "is managed by Flux" in shop.refusal("web")
        assert shop.refusal("api") == ""


@pytest.fixture
def slow_clock(settable_clock: dict[str, str]) -> dict[str, str]:
    """Return the environment of a program whose clock is behind."""
    Path(settable_clock["CLOCK_FILE"]).write_text(str(-SKEW))
    return settable_clock


@pytest.mark.e2e  # needs a C compiler
def test_grant_is_valid_on_replicas_with_different_clocks(
    cluster: ControlPlane, shop: Shop, tmp_path: Path, slow_clock: dict[str, str]
) -> None:
    """It counts at once on a replica that is behind; one that is ahead ends it no later."""
    with paired(cluster, tmp_path, slow_clock) as pair:
        with roles(pair, shop):
            shop.break_glass("web")
            assert shop.refusal("web") == ""
            assert shop.stamp("web").start > datetime.now(UTC) - timedelta(seconds=SKEW)
        shop.deploy("api")
        with roles(pair, shop, swapped=True):
            shop.break_glass("api", ttl=f"{SKEW + 4}s")
            assert shop.stamp("api").start < datetime.now(UTC) - timedelta(seconds=SKEW - 1)
            assert shop.refusal("api") == ""
            eventually(lambda: "expired at" in shop.refusal("api"), "the grant's end", seconds=15)
            assert shop.refusal("web") == ""
