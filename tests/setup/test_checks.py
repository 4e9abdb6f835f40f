"""What the doctor makes of the webhook's metrics, of a ledger and of a disk."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from glasswarden.ledger.open import open_ledger
from glasswarden.setup import doctor
from glasswarden.setup.doctor import Finding, Health, ledger, room
from tests.certs.builders import NOW
from tests.ledger.fsck.builders import two_chains

DAY = 86_400.0


def read(**values: float) -> doctor.Metrics:
    """Return figures as the webhook serves them."""
    return doctor.metrics_in("".join(f"glasswarden_{k} {v}\n" for k, v in values.items()))


def test_series_of_one_metric_are_summed() -> None:
    text = 'glasswarden_unrecorded_writes_total{outcome="allowed"} 2\n'
    text += 'glasswarden_unrecorded_writes_total{outcome="refused"} 3\n'
    assert doctor.metrics_in(text) == {"glasswarden_unrecorded_writes_total": 5.0}


@pytest.mark.parametrize(
    ("found", "health", "message"),
    [
        pytest.param(read(ledger_available=1), Health.OK, "in the ledger", id="available"),
        pytest.param(
            read(ledger_available=0, spool_records=7, spool_oldest_seconds=90),
            Health.FAIL,
            "7 records wait in the spool, the oldest for 90 s",
            id="unavailable",
        ),
        pytest.param(
            read(ledger_available=1, spool_records=3), Health.WARN, "3 records", id="behind"
        ),
        pytest.param(
            read(ledger_available=1, unrecorded_writes_total=2),
            Health.WARN,
            "2 writes could not be recorded",
            id="unrecorded",
        ),
    ],
)
def test_recording_is_judged_by_the_metrics_of_the_ledger(
    found: doctor.Metrics, health: Health, message: str
) -> None:
    finding = doctor.recording(found)
    assert finding.health is health
    assert message in finding.message
    assert bool(finding.advice) is (health is not Health.OK)


def test_unusable_policy_file_fails_the_check() -> None:
    assert doctor.policy_in_force(read(policy_refused=1)).health is Health.FAIL
    assert doctor.policy_in_force(read(policy_refused=0)).health is Health.OK


@pytest.mark.parametrize(
    ("found", "health", "message"),
    [
        pytest.param(
            read(grant_key_active_timestamp_seconds=NOW.timestamp() - 3 * DAY),
            Health.OK,
            "3 days",
            id="young",
        ),
        pytest.param(
            read(grant_key_active_timestamp_seconds=NOW.timestamp() - 91 * DAY),
            Health.WARN,
            "91 days",
            id="old",
        ),
        pytest.param(
            read(grant_key_active_timestamp_seconds=0), Health.FAIL, "nobody can", id="none"
        ),
        pytest.param(
            read(grant_key_active_timestamp_seconds=NOW.timestamp() - DAY, stamps_refused_total=4),
            Health.WARN,
            "a key was revoked",
            id="revoked",
        ),
    ],
)
def test_keys_are_judged_by_the_metrics_of_the_grant_key(
    found: doctor.Metrics, health: Health, message: str
) -> None:
    finding = doctor.keys(found, NOW)
    assert finding.health is health
    assert message in finding.message


@pytest.mark.parametrize(("days", "health"), [(1, Health.OK), (-1, Health.FAIL)])
def test_served_certificate_fails_the_check_once_expired(days: int, health: Health) -> None:
    expiry = (NOW + timedelta(days=days)).timestamp()
    found = read(certificate_expiry_timestamp_seconds=expiry)
    assert doctor.check_served_certificate(found, NOW).health is health


@pytest.mark.parametrize(
    ("free", "health"),
    [(50.0, Health.OK), (5.0, Health.WARN), (0.1, Health.FAIL)],
)
def test_free_disk_space_is_judged(free: float, health: Health) -> None:
    assert room("disk", int(free * 1e9), int(100e9)).health is health


def by_subject(address: str) -> dict[str, Finding]:
    return {finding.subject: finding for finding in ledger(address, NOW)}


def test_intact_ledger_passes_the_check(tmp_path: Path) -> None:
    address = f"sqlite://{tmp_path}/ledger.db"
    with closing(open_ledger(address)) as opened:
        two_chains(opened)
    found = by_subject(address)
    assert {found["ledger"].health, found["chains"].health} == {Health.OK}
    assert found["ledger"].message == "2 chains"


def test_missing_ledger_fails_the_check_and_is_not_created(tmp_path: Path) -> None:
    found = by_subject(f"sqlite://{tmp_path}/ledger.db")
    assert found["ledger"].health is Health.FAIL
    assert "--ledger" in found["ledger"].advice
    assert not (tmp_path / "ledger.db").exists()
