"""Every crash is survivable: what was acknowledged is in the ledger, once, and fsck is clean."""

import os
import random
import shutil
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from glasswarden.ledger.open import open_ledger
from glasswarden.ledger.spool import line_of
from tests.chaos import Note
from tests.cluster.retries import eventually
from tests.ledger.builders import an_attempt, records_of
from tests.ledger.chains import by_chain, of_type
from tests.webhook.builders import a_review
from tests.webhook.disks import fill, small_disk
from tests.webhook.evidence import assert_nothing_is_lost, spooled, stored
from tests.webhook.workers import JSON, KILLED_BEFORE_TLS, WORKERS, Webhook, load_on

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600), KILLED_BEFORE_TLS]

SOAK = "GLASSWARDEN_SOAK" in os.environ
KILLS = 2000 if SOAK else 200
WARNING = "apiVersion: glasswarden.io/v1\nkind: Policy\nmode: warn\n"


def is_witnessed(chain: list[dict[str, Any]], records: list[dict[str, Any]]) -> bool:
    named = [head for each in of_type(records, "opened") for head in each.get("heads", ())]
    return any(
        (head["writer"], head["sequence"]) == (chain[-1]["writer"], chain[-1]["sequence"])
        for head in named
    )


def begun(address: str) -> int:
    """Return how many chains there are: as many workers came to serve."""
    with closing(open_ledger(address)) as ledger:
        return len(ledger.heads())


def all_serve(webhook: Webhook, address: str) -> bool:
    """Return whether every worker has begun its chain, which says where others ended."""
    with closing(open_ledger(address)) as ledger:
        writers = [head.writer for head in ledger.heads()]
    workers = webhook.workers()
    begun = [any(f"-{worker}-" in writer for writer in writers) for worker in workers]
    return len(begun) == WORKERS and all(begun)


def test_workers_killed_at_random_lose_no_record(tmp_path: Path, chaos: Note) -> None:
    """Single workers, all of them, and sometimes the parent with them."""
    chance = random.Random(20260301)  # noqa: S311 - the same order every time
    address = f"sqlite://{tmp_path}/ledger.db"
    with Webhook(tmp_path, address) as webhook, load_on(webhook) as answers:
        # Those that were killed before they came to serve are not counted.
        while begun(address) < KILLS + WORKERS:
            time.sleep(chance.uniform(0, 0.2))
            if chance.random() < 0.03:
                webhook.kill_all()
                webhook.start()
            else:
                webhook.kill(WORKERS if chance.random() < 0.1 else 1, chance)
        eventually(lambda: all_serve(webhook, address), "all workers to be back")
    chaos(
        "workers and parents killed again and again (no API server)",
        killed=KILLS,
        records_acknowledged=len(answers.recorded),
        requests_without_an_answer=answers.failed,
    )
    assert len(answers.recorded) > KILLS
    assert_nothing_is_lost(address, answers)
    records = stored(address)
    chains = by_chain(records)
    unclosed = [chain for chain in chains if chain[-1]["type"] != "closed"]
    assert len(unclosed) >= KILLS
    # Whoever was killed, the next one said where its chain ended.
    assert [chain[-1] for chain in unclosed if not is_witnessed(chain, records)] == []


def test_orderly_stop_records_what_waits_and_closes_chains(tmp_path: Path) -> None:
    """Although callers keep their connections."""
    address = f"sqlite://{tmp_path}/ledger.db"
    with Webhook(tmp_path, address) as webhook, webhook.connected() as idle:
        idle.request("GET", "/readyz")
        idle.getresponse().read()
        with load_on(webhook) as answers:
            time.sleep(1)
            webhook.stop()
    assert answers.recorded
    assert_nothing_is_lost(address, answers)
    assert {chain[-1]["type"] for chain in by_chain(stored(address))} == {"closed"}


def test_calls_during_the_stop_are_answered(tmp_path: Path) -> None:
    """A Service learns of the end from a probe, and goes on sending until then."""
    with Webhook(tmp_path, f"sqlite://{tmp_path}/ledger.db") as webhook:
        with webhook.connected() as idle:  # so that it does not end at once
            idle.request("GET", "/healthz")
            idle.getresponse().read()
            webhook.tell_to_stop()
            eventually(lambda: status_of(webhook) == 503, "the probe to be told", seconds=2)
            deadline = time.monotonic() + 1.0  # processes look once a second whether to end
            while time.monotonic() < deadline:
                with webhook.connected() as late:
                    late.request("POST", webhook.path, a_review(), JSON)
                    answer = late.getresponse()
                    assert (answer.status, answer.getheader("connection")) == (200, "close")
                    answer.read()
        webhook.stop()


def status_of(webhook: Webhook) -> int:
    with webhook.connected() as connection:
        connection.request("GET", "/readyz")
        return connection.getresponse().status


def is_back(webhook: Webhook) -> bool:
    """Return whether every process that lost the ledger has found it again."""
    return 0 < len(webhook.said("ledger unavailable")) == len(webhook.said("ledger available"))


def test_writes_on_a_full_disk_are_counted_in_a_gap(tmp_path: Path) -> None:
    """Writes are allowed as the policy says, and the gap has their exact number."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(WARNING)
    with small_disk(tmp_path / "disk", megabytes=64) as disk:
        address, ballast = f"sqlite://{disk}/ledger.db", disk / "ballast"
        with Webhook(tmp_path, address, "--policy", policy) as webhook:
            with load_on(webhook) as before:
                time.sleep(1)
            fill(ballast)
            with load_on(webhook) as during:
                time.sleep(3)
            ballast.unlink()
            eventually(lambda: is_back(webhook), "the ledger to be back")
            with load_on(webhook) as after:
                time.sleep(1)
        assert min(len(before.recorded), during.unrecorded, len(after.recorded)) > 0
        assert (during.unavailable, during.failed) == (0, 0)
        for answers in (before, during, after):
            assert_nothing_is_lost(address, answers)
        gaps = of_type(stored(address), "gap")
        assert sum(gap["count"] for gap in gaps) == during.unrecorded


def test_read_only_volume_denies_until_records_can_be_written(tmp_path: Path) -> None:
    """The webhook starts, denies what it cannot record, and records once it can."""
    with small_disk(tmp_path / "disk", megabytes=64) as disk:
        address, keys = f"sqlite://{disk}/ledger.db", tmp_path / "keys"
        with Webhook(tmp_path, address):
            pass
        shutil.copytree(f"{disk}/ledger.db.keys", keys)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with Webhook(tmp_path, address, "--keys", keys) as webhook:
            with load_on(webhook) as during:
                time.sleep(1)
            subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
            eventually(lambda: is_back(webhook), "the ledger to be back")
            with load_on(webhook) as after:
                time.sleep(1)
        assert (len(during.recorded), during.unrecorded) == (0, 0)
        assert min(during.unavailable, len(after.recorded)) > 0
        assert_nothing_is_lost(address, after)


def test_torn_spool_is_delivered_except_for_its_last_line(tmp_path: Path) -> None:
    """What a dead process spooled is delivered, but for the line that it died in."""
    address, spool = f"sqlite://{tmp_path}/ledger.db", tmp_path / "ledger.db.spool"
    records = records_of(an_attempt(), an_attempt(), writer="dead")
    spool.mkdir()
    whole = b"".join(map(line_of, records))
    (spool / "dead.jsonl").write_bytes(whole + line_of(records[1])[:-20])
    with Webhook(tmp_path, address) as webhook:
        eventually(lambda: not spooled(spool), "the spool to be delivered")
        [torn] = webhook.said("torn line removed")
    assert torn["bytes"] == len(line_of(records[1])) - 20
    with closing(open_ledger(address)) as ledger:
        assert [row.body for row in ledger.rows("dead")] == [record.body for record in records]
