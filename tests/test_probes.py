"""The server of probes: what it answers, and what a caller cannot do to it."""

import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Gauge
from werkzeug.test import Client

from certs.files import Folder
from certs.rotation import Timing, first_state
from glasswarden.probes import MOST_CALLERS, AddressUnusable, new_pages, serving

LOOPBACK = "127.0.0.1"


class Healthy:
    """A program as a test wants it."""

    well = True
    unready = ""

    def is_well(self) -> bool:
        return self.well

    def why_unready(self) -> str:
        return self.unready


@pytest.fixture
def health() -> Healthy:
    return Healthy()


@pytest.fixture
def pages(health: Healthy) -> Client:
    registry = CollectorRegistry()
    Gauge("passes", "Passes that ended.", registry=registry).set(3)
    return Client(new_pages(health, registry))


def test_probes_answer_for_the_program(pages: Client, health: Healthy) -> None:
    assert (pages.get("/healthz").status_code, pages.get("/healthz").text) == (200, "ok\n")
    assert pages.get("/readyz").status_code == 200
    health.well, health.unready = False, "who leads is not known"
    assert pages.get("/healthz").status_code == 503
    assert (pages.get("/readyz").status_code, pages.get("/readyz").text) == (
        503,
        "who leads is not known\n",
    )


def test_metrics_are_those_of_the_registry(pages: Client) -> None:
    assert "passes 3.0" in pages.get("/metrics").text
    assert pages.get("/metrics").headers["Content-Type"].startswith("text/plain")


def test_nothing_else_is_answered(pages: Client) -> None:
    assert pages.get("/elsewhere").status_code == 404
    assert pages.post("/healthz").status_code == 405
    assert pages.head("/healthz").text == ""


@pytest.fixture
def port(health: Healthy) -> Iterator[int]:
    with serving(new_pages(health, CollectorRegistry()), f"{LOOPBACK}:0") as found:
        yield found


def status_of(url: str, context: ssl.SSLContext | None = None) -> int:
    with urllib.request.urlopen(url, timeout=10, context=context) as answer:  # noqa: S310 - ours
        status: int = answer.status
        return status


def test_callers_beyond_the_limit_find_the_connection_closed(port: int) -> None:
    silent = [socket.create_connection((LOOPBACK, port)) for _ in range(MOST_CALLERS)]
    deadline = time.monotonic() + 20
    while is_answered(port):
        assert time.monotonic() < deadline, "the silent callers took no room"
    for each in silent:
        each.close()
    while not is_answered(port):
        assert time.monotonic() < deadline, "there is no room again"


def is_answered(port: int) -> bool:
    try:
        return status_of(f"http://{LOOPBACK}:{port}/healthz") == 200
    except (urllib.error.URLError, OSError):
        return False


@pytest.mark.parametrize("listen", ["127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999", "256.0.0.1:1"])
def test_an_unusable_address_is_named(health: Healthy, listen: str) -> None:
    with (
        pytest.raises(AddressUnusable, match=f"cannot listen on {listen}"),
        serving(new_pages(health, CollectorRegistry()), listen),
    ):
        pass


def test_a_renewed_certificate_is_served(health: Healthy, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write(first_state((LOOPBACK,), datetime.now(UTC), Timing()))
    with serving(new_pages(health, CollectorRegistry()), f"{LOOPBACK}:0", tmp_path) as port:
        url = f"https://{LOOPBACK}:{port}/healthz"
        assert status_of(url, ssl.create_default_context(cafile=folder.authority)) == 200
        (tmp_path / "tls.key").write_text("half renewed")
        assert status_of(url, ssl.create_default_context(cafile=folder.authority)) == 200
        folder.write(first_state((LOOPBACK,), datetime.now(UTC), Timing()))
        assert status_of(url, ssl.create_default_context(cafile=folder.authority)) == 200


def test_a_folder_without_a_certificate_is_named(health: Healthy, tmp_path: Path) -> None:
    with (
        pytest.raises(AddressUnusable, match="no certificate in"),
        serving(new_pages(health, CollectorRegistry()), f"{LOOPBACK}:0", tmp_path),
    ):
        pass
