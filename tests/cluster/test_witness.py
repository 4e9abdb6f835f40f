"""The real API server's audit log as the ledger's witness, and fsck between the two."""

import json
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from glasswarden.ledger.open import file_of
from glasswarden.ledger.record import Attempt
from tests.cluster.applications import by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN, Guard, guarding
from tests.cluster.kubectl import Caller

OWN = "guard.glasswarden.io/"


@pytest.fixture(scope="module")
def guard(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guard]:
    policy = "mode: warn\nmodes: [{mode: enforce, kinds: [ConfigMap]}]\n"
    with guarding(cluster, tmp_path_factory.mktemp("guard"), policy) as running:
        yield running


def deploy(flux_account: Caller, namespace: str, *names: str) -> None:
    stdin = [by_flux(deployment(name, namespace), "shop") for name in names]
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=stdin)


def log_of(guard: Guard, file: Path, without: str = "") -> Path:
    """Return the audit log since the guard is there, but for the events that speak of *without*.

    Earlier guards on the same API server had ledgers of their own. A last write, of something that
    nobody guards, ends it: a log covers what is before its end.
    """
    time.sleep(1.5)
    guard.cluster.as_("admin").kubectl("create", "namespace", f"end-{time.monotonic_ns()}")
    begun = datetime.fromtimestamp(guard.policy.stat().st_mtime, UTC)
    events = [
        json.dumps(event)
        for event in guard.cluster.audit_events()
        if datetime.fromisoformat(event["requestReceivedTimestamp"]) >= begun
    ]
    kept = [event for event in events if not without or without not in event]
    file.write_text("".join(f"{event}\n" for event in kept))
    return file


def fsck(guard: Guard, log: Path) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit code of fsck, and what it found."""
    command = [*GLASSWARDEN, "ledger", "fsck", "--ledger", guard.ledger, "--quiet"]
    command += ["--audit-log", str(log), "--audit-lag", "1s", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def events_naming(guard: Guard, attempt: Attempt) -> list[dict[str, Any]]:
    key = f"{OWN}{attempt.id}"
    return [each for each in guard.cluster.audit_events() if key in each.get("annotations", {})]


def test_every_write_of_a_person_has_a_record_and_an_audit_event(
    guard: Guard, flux_account: Caller, namespace: str, tmp_path: Path
) -> None:
    """Allowed, denied, scaled and deleted: each record has its witness, each witness its record."""
    deploy(flux_account, namespace, "web", "api")
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": namespace},
    }
    flux_account.kubectl("apply", "--server-side", "-f", "-", stdin=by_flux(settings, "shop"))
    developer = guard.cluster.as_("developer")
    developer.kubectl("label", "deployment/web", "-n", namespace, "tier=front")
    developer.kubectl("scale", "deployment/web", "-n", namespace, "--replicas=7")
    developer.kubectl("delete", "deployment/api", "-n", namespace)
    denied = developer.kubectl(
        "label", "configmap/settings", "-n", namespace, "tier=front", check=False
    )
    assert denied.returncode == 1
    verdicts = [record.verdict for record in guard.records_in(namespace)]
    assert sorted(verdicts) == ["allow", "allow", "allow", "deny"]
    assert fsck(guard, log_of(guard, tmp_path / "audit.log")) == (0, [])


def test_every_retry_of_a_contended_write_is_in_its_audit_event(
    guard: Guard, flux_account: Caller, namespace: str, tmp_path: Path
) -> None:
    """The API server asks again when the object moved under a PATCH; its event names every try."""
    deploy(flux_account, namespace, "web")
    developer = guard.cluster.as_("developer")

    def label(number: int) -> None:
        developer.kubectl("label", "deployment/web", "-n", namespace, f"number-{number}=x")

    with ThreadPoolExecutor(8) as people:
        list(people.map(label, range(24)))
    assert len(guard.records_in(namespace)) > 24
    assert fsck(guard, log_of(guard, tmp_path / "audit.log")) == (0, [])


def test_every_object_of_a_deleted_collection_is_in_one_audit_event(
    guard: Guard, flux_account: Caller, namespace: str, tmp_path: Path
) -> None:
    deploy(flux_account, namespace, "one", "two", "three")
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    guard.cluster.as_("developer").kubectl("delete", "--raw", path)
    records = guard.records_in(namespace)
    assert {record.name for record in records} == {"one", "two", "three"}
    events = {event["auditID"] for each in records for event in events_naming(guard, each)}
    assert len(events) == 1
    assert fsck(guard, log_of(guard, tmp_path / "audit.log")) == (0, [])


def test_record_without_its_audit_event_is_found(
    guard: Guard, flux_account: Caller, namespace: str, tmp_path: Path
) -> None:
    deploy(flux_account, namespace, "web")
    guard.cluster.as_("developer").kubectl("label", "deployment/web", "-n", namespace, "a=b")
    [record] = guard.records_in(namespace)
    code, [found] = fsck(guard, log_of(guard, tmp_path / "audit.log", without=record.id))
    assert code == 1
    assert found["finding"] == "unwitnessed"
    place = (found["chain"], found["sequence"], found["id"])
    assert place == (record.writer, record.sequence, record.id)


def test_removed_record_is_found_by_its_chain_and_its_audit_event(
    guard: Guard, flux_account: Caller, namespace: str, tmp_path: Path
) -> None:
    """By its chain, which goes on behind it, and by the witness: that names it."""
    deploy(flux_account, namespace, "web")
    developer = guard.cluster.as_("developer")
    developer.kubectl("label", "deployment/web", "-n", namespace, "a=b")
    developer.kubectl("label", "deployment/web", "-n", namespace, "c=d")
    record, after = guard.records_in(namespace)
    assert record.writer == after.writer
    [event] = events_naming(guard, record)
    log = log_of(guard, tmp_path / "audit.log")
    with closing(sqlite3.connect(file_of(guard.ledger))) as database, database:
        kept = database.execute("SELECT * FROM record WHERE sequence = ?", [record.sequence])
        row = kept.fetchone()
        database.execute("DELETE FROM record WHERE sequence = ?", [record.sequence])
    code, found = fsck(guard, log)
    with closing(sqlite3.connect(file_of(guard.ledger))) as database, database:
        database.execute(f"INSERT INTO record VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
    assert code == 1
    removed, missing = found
    assert (removed["finding"], removed["sequence"]) == ("removed", record.sequence)
    assert (missing["finding"], missing["id"]) == ("record-missing", record.id)
    assert missing["audit_id"] == event["auditID"]
