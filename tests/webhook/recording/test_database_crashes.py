"""The database server becomes unavailable under load: no writer is affected."""

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from glasswarden.ledger.keys import make_keys
from glasswarden.ledger.open import migrate_ledger
from tests.chaos import Note
from tests.cluster.retries import eventually
from tests.ledger.chains import by_chain
from tests.postgres_server import Server, restartable_server
from tests.webhook.evidence import assert_nothing_is_lost, spooled, stored
from tests.webhook.workers import KILLED_BEFORE_TLS, WORKERS, Webhook, load_on

pytestmark = [pytest.mark.e2e, pytest.mark.postgres, pytest.mark.timeout(600), KILLED_BEFORE_TLS]


@pytest.fixture
def server() -> Iterator[Server]:
    with restartable_server() as server:
        migrate_ledger(server.url)
        yield server


@pytest.fixture
def webhook(server: Server, tmp_path: Path) -> Webhook:
    make_keys(tmp_path / "keys", datetime.now(UTC))
    return Webhook(tmp_path, server.url, "--keys", tmp_path / "keys", "--spool", tmp_path / "spool")


def test_database_stopped_for_half_a_minute_loses_no_record(
    server: Server, webhook: Webhook, chaos: Note
) -> None:
    """Writes are answered all the time; workers that are killed meanwhile lose nothing."""
    chance = random.Random(20260302)  # noqa: S311 - the same order every time
    with webhook, load_on(webhook) as answers:
        time.sleep(2)
        server.stop()
        for _ in range(6):
            time.sleep(5)
            webhook.kill(1, chance)
        assert spooled(webhook.log.parent / "spool")
        server.start()
        eventually(lambda: not spooled(webhook.log.parent / "spool"), "all to be delivered")
    chaos(
        "PostgreSQL stopped for half a minute, workers killed meanwhile (no API server)",
        records_acknowledged=len(answers.recorded),
        refused_for_want_of_a_record=answers.unavailable,
        unrecorded=answers.unrecorded,
    )
    assert answers.recorded
    assert (answers.unavailable, answers.unrecorded) == (0, 0)
    assert_nothing_is_lost(server.url, answers)


def test_database_killed_repeatedly_loses_no_record(server: Server, webhook: Webhook) -> None:
    with webhook, load_on(webhook) as answers:
        for _ in range(5):
            time.sleep(2)
            server.kill()
            server.start()
    assert answers.recorded
    assert (answers.unavailable, answers.unrecorded, answers.failed) == (0, 0, 0)
    settle(webhook)
    assert_nothing_is_lost(server.url, answers)


def test_database_unavailable_at_start_and_stop_loses_no_record(
    server: Server, webhook: Webhook
) -> None:
    server.stop()
    with webhook, load_on(webhook) as answers:
        time.sleep(1)
    assert answers.recorded
    assert len(spooled(webhook.log.parent / "spool")) == WORKERS
    server.start()
    settle(webhook)
    assert_nothing_is_lost(server.url, answers)
    assert {chain[-1]["type"] for chain in by_chain(stored(server.url))} == {"closed"}


def settle(webhook: Webhook) -> None:
    """Have what killed workers left behind delivered by a webhook that starts."""
    with webhook:
        eventually(lambda: not spooled(webhook.log.parent / "spool"), "all to be delivered")
