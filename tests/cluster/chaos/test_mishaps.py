"""Operational mishaps: each has its documented behaviour, its metric and its log line.

The behaviour is that of docs/operate.md; the metric is on /metrics; and `doctor` reports what is
wrong.
"""

import itertools
import re
import ssl
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs.files import issue_into
from glasswarden.setup.doctor import Metrics, metrics_in
from tests.chaos import Note
from tests.cluster.chaos.stand import HEAD, POLICY, Stand, deploy, new_stand
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import GLASSWARDEN, registered
from tests.cluster.kubectl import Caller
from tests.cluster.load import Tally, count, writing
from tests.cluster.processes import LOOPBACK
from tests.cluster.retries import eventually
from tests.webhook.disks import fill, small_disk
from tests.webhook.workers import Webhook

STRICT = f"{HEAD}mode: warn\noutage: {{warn: refuse}}\n"
ASK = ("reason=checkout answers nobody", "ticket=INC-42", "ttl=1h")


@pytest.fixture(autouse=True)
def _web(flux_account: Caller, namespace: str) -> None:
    deploy(flux_account, namespace, "web")


def doctor(stand: Stand, *more: str, policy: Path | None = None) -> dict[str, str]:
    """Return what `glasswarden doctor` says of each subject."""
    command = [*GLASSWARDEN, "doctor", "--kubeconfig", str(stand.cluster.kubeconfig("admin"))]
    command += ["--certs", str(stand.certificates.path), "--policy", str(policy or stand.policy)]
    said = subprocess.run([*command, *more], capture_output=True, text=True, check=False).stdout
    lines = [line.split(maxsplit=2) for line in said.splitlines() if not line.startswith(" ")]
    return {subject: f"{health}: {rest}" for health, subject, rest in lines}


def figures(webhook: Webhook) -> Metrics:
    with webhook.connected() as connection:
        connection.request("GET", "/metrics")
        return metrics_in(connection.getresponse().read().decode())


def outcome(act: Callable[[], None]) -> str:
    """Return why *act* failed; nothing where it did not."""
    tally = Tally()
    count(act, tally)
    return "".join(tally.failures)


def test_full_disk_denies_writes_that_must_be_recorded(
    cluster: ControlPlane, namespace: str, tmp_path: Path, chaos: Note
) -> None:
    """What the policy wants recorded and cannot be is denied, until there is space again."""
    with small_disk(tmp_path / "disk", megabytes=64) as disk:
        stand = new_stand(cluster, disk, STRICT)
        replica = stand.replica()
        write = writing(stand.objects("outsider"), namespace, "web")
        with replica, stand.asked_at(replica.port):
            assert outcome(write) == ""
            fill(disk / "ballast")
            refused = eventually(lambda: outcome(write), "the disk's end to be met")
            found, said = figures(replica), doctor(stand, "--ledger", stand.ledger)
            (disk / "ballast").unlink()
            eventually(lambda: not outcome(write), "records to be taken again")
            eventually(lambda: figures(replica)["glasswarden_ledger_available"], "the ledger back")
            lines = replica.said("ledger unavailable")
    chaos(
        "disk full",
        doctor=said["recording"].partition(":")[0],
        unrecorded=int(found["glasswarden_unrecorded_writes_total"]),
    )
    assert "cannot be recorded" in refused
    assert found["glasswarden_ledger_available"] == 0
    assert lines
    assert said["recording"].startswith("FAIL")
    assert said["disk"].startswith("FAIL")


def test_corrupt_policy_file_keeps_the_previous_policy_in_force(
    cluster: ControlPlane, namespace: str, tmp_path: Path, chaos: Note
) -> None:
    """The policy from before the change stays in force."""
    stand = new_stand(cluster, tmp_path)
    replica, good = stand.replica(), tmp_path / "good.yaml"
    good.write_text(POLICY)
    write = writing(stand.objects("outsider"), namespace, "web")
    with replica, stand.asked_at(replica.port):
        before = outcome(write)
        stand.policy.write_bytes(b"\x00\xff mode: [")
        eventually(lambda: replica.said("policy not reloaded"), "the change to be met")
        during = outcome(write)
        eventually(lambda: figures(replica)["glasswarden_policy_refused"] == 1, "the figure")
        said = doctor(stand, policy=good)
        stand.policy.write_text(POLICY)
        eventually(lambda: figures(replica)["glasswarden_policy_refused"] == 0, "it to be mended")
    chaos("policy file corrupt", verdict="as before", doctor=said["rules"].partition(":")[0])
    assert "this direct write is refused" in before
    assert re.sub(r"[0-9]+", "N", before) == re.sub(r"[0-9]+", "N", during)
    assert said["rules"].startswith("FAIL")


def test_expired_certificate_fails_guarded_writes(
    cluster: ControlPlane, namespace: str, tmp_path: Path, chaos: Note
) -> None:
    """The API server trusts the webhook no longer: guarded writes fail, with the reason."""
    stand = new_stand(cluster, tmp_path)
    issue_into(stand.certificates.path, [LOOPBACK], datetime.now(UTC) - timedelta(days=91))
    replica = stand.replica()
    replica.tls.check_hostname = False
    replica.tls.verify_mode = ssl.CERT_NONE
    write = writing(stand.objects("outsider"), namespace, "web")
    url, authority = f"https://{LOOPBACK}:{replica.port}", stand.certificates.authority
    with replica, registered(cluster, url, authority, stand.policy):
        refused = eventually(lambda: outcome(write), "the API server to ask")
        found, said = figures(replica), doctor(stand)
    left = found["glasswarden_certificate_expiry_timestamp_seconds"] - datetime.now(UTC).timestamp()
    chaos(
        "certificate expired",
        days_left=round(left / 86400),
        doctor=said["certificate"].partition(":")[0],
    )
    assert "certificate has expired" in refused
    assert left < 0
    assert replica.said("certificate expired")
    assert said["certificate"] == "FAIL: it has expired"


def test_revoked_key_invalidates_its_grants(
    cluster: ControlPlane, namespace: str, tmp_path: Path, chaos: Note
) -> None:
    """What the key stamped counts no longer; a new request gets a new grant."""
    stand = new_stand(cluster, tmp_path)
    replica = stand.replica()
    responder = cluster.as_("responder")
    asks = [f"breakglass.glasswarden.io/{each}" for each in ASK]
    web = ("deployment/web", "-n", namespace)

    def set_image(tag: str) -> str:
        image = f"app=registry.example/web:{tag}"
        done = responder.kubectl("set", "image", *web, image, check=False)
        return done.stderr if done.returncode else ""

    with replica, stand.asked_at(replica.port):
        responder.kubectl("annotate", *web, *asks)
        assert set_image("hotfix") == ""
        for key in stand.keys.glob("grant-*.key"):
            key.unlink()
        eventually(lambda: replica.said("grant keys revoked"), "the key to be missed")
        # Another one each time: who has not missed the key yet lets it in, and the same again
        # would be no write.
        tags = (f"try-{number}" for number in itertools.count())
        refused = eventually(lambda: set_image(next(tags)), "its stamps to count no longer")
        eventually(lambda: figures(replica)["glasswarden_stamps_refused_total"], "the figure")
        without = doctor(stand)
        subprocess.run(
            [*GLASSWARDEN, "keys", "make", "--dir", str(stand.keys)],
            check=True,
            capture_output=True,
        )
        eventually(
            lambda: figures(replica)["glasswarden_grant_key_active_timestamp_seconds"], "a new key"
        )
        said = doctor(stand)
    chaos("grant key revoked", doctor=said["keys"].partition(":")[0])
    assert "this direct write is refused" in refused
    assert without["keys"].startswith("FAIL: no key signs")
    assert "a key was revoked" in said["keys"]
    assert replica.said("stamp rejected")


@pytest.mark.parametrize("hours", [26, -26], ids=["forward", "back"])
def test_clock_jump_is_reported_and_changes_no_verdict_of_the_policy(
    hours: int,
    cluster: ControlPlane,
    namespace: str,
    tmp_path: Path,
    settable_clock: dict[str, str],
    chaos: Note,
) -> None:
    """Grants end by the webhook's clock; verdicts by the rules and the chains are unaffected."""
    stand, clock = new_stand(cluster, tmp_path), tmp_path / "clock"
    replica = stand.replica("one", environment=settable_clock)
    write = writing(stand.objects("outsider"), namespace, "web")
    passing = writing(stand.objects("developer"), namespace, "web")
    with replica, stand.asked_at(replica.port):
        before = [outcome(write) for _ in range(5)]
        clock.write_text(str(hours * 3600))
        eventually(lambda: replica.said("clock jumped"), "the jump to be noticed")
        during = [outcome(write) for _ in range(5)]
        allowed = [outcome(passing) for _ in range(5)]
        healthy, said = replica.answers(), doctor(stand)
        jumps = figures(replica)["glasswarden_clock_jumps_total"]
        clock.write_text("0")
        eventually(lambda: doctor(stand)["webhook-clock"].startswith("OK"), "the time to be right")
    refused = [text for text in (*before, *during) if "this direct write is refused" in text]
    chaos(
        f"clock jumps {hours:+d} h",
        refused_by_the_rules=len(refused),
        of=10,
        jumps_seen=int(jumps),
        records_lost=len(stand.lost(namespace)),
        doctor=said["webhook-clock"].partition(":")[0],
    )
    assert len(refused) == 10
    assert allowed == [""] * 5
    assert healthy
    assert said["webhook-clock"].startswith("FAIL")
    assert stand.lost(namespace) == []
