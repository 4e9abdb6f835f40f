"""The intake: only the API server gets in, and 200 means that the events are on the disk."""

import json
import resource
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from correlator.audit.intake import (
    EventStore,
    Limits,
    StoreUnavailable,
    is_known,
    new_audit_intake,
    parse_batch,
)
from glasswarden.audit.files import read_events
from tests.audit.builders import NOON, at, audit_document

Opened = Callable[..., EventStore]

TOKEN = "a-token-that-nobody-guesses"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def batch(*minutes: float, **differing: Any) -> bytes:  # noqa: ANN401 - as in the log
    items = [audit_document(minute, **differing) for minute in minutes]
    return json.dumps(
        {"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": items}
    ).encode()


def kept_in(store: EventStore) -> list[str]:
    """Return the ids of what the reader finds in the store's files."""
    flaws: list[object] = []
    ids = [event.audit_id for event in read_events(store.files(), flaws.append)]
    assert flaws == []
    return ids


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Return what opens stores, which are closed in the end."""
    with ExitStack() as stack:
        yield lambda *given: stack.enter_context(closing(EventStore(*given)))


@pytest.fixture
def store(tmp_path: Path, opened: Opened) -> EventStore:
    return opened(tmp_path / "events")


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text(f"{TOKEN}\n")
    return file


@pytest.fixture
def client(store: EventStore, tokens: Path) -> FlaskClient:
    app = Flask("intake")
    app.register_blueprint(new_audit_intake(store, tokens, largest=100_000))
    return app.test_client()


class TestIntake:
    def test_batch_is_stored_unchanged(self, client: FlaskClient, store: EventStore) -> None:
        answer = client.post("/audit", data=batch(1, 2), headers=BEARER)
        assert (answer.status_code, kept_in(store)) == (200, ["audit-1", "audit-2"])
        lines = store.files()[0].read_text().splitlines()
        assert [json.loads(line) for line in lines] == [audit_document(1), audit_document(2)]

    def test_batch_sent_twice_is_stored_once(self, client: FlaskClient, store: EventStore) -> None:
        for body in (batch(1, 2), batch(1, 2), batch(2, 3)):
            assert client.post("/audit", data=body, headers=BEARER).status_code == 200
        assert kept_in(store) == ["audit-1", "audit-2", "audit-3"]

    @pytest.mark.parametrize(
        "header",
        ["", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \xff", TOKEN],
    )
    def test_unauthorized_caller_is_rejected(
        self, client: FlaskClient, store: EventStore, header: str
    ) -> None:
        answer = client.post("/audit", data=batch(1), headers={"Authorization": header})
        assert (answer.status_code, store.files()) == (401, [])

    def test_token_is_rotated_without_a_restart(self, client: FlaskClient, tokens: Path) -> None:
        new = {"Authorization": "Bearer another-token-to-come-in-with"}
        for text, old_status, new_status in (
            (TOKEN, 200, 401),
            (f"{TOKEN}\nanother-token-to-come-in-with\n", 200, 200),
            ("another-token-to-come-in-with", 401, 200),
        ):
            tokens.write_text(text)
            assert client.post("/audit", data=batch(1), headers=BEARER).status_code == old_status
            assert client.post("/audit", data=batch(1), headers=new).status_code == new_status

    @pytest.mark.parametrize("text", ["", "short", f"{TOKEN}\nshort", None])
    def test_request_is_answered_with_retry_after_without_usable_tokens(
        self, client: FlaskClient, tokens: Path, text: str | None
    ) -> None:
        tokens.unlink() if text is None else tokens.write_text(text)
        answer = client.post("/audit", data=batch(1), headers={"Authorization": "Bearer short"})
        assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{}",
            b"[]",
            b'{"kind":"EventList","items":[{"kind":"Event"}]}',
            json.dumps(audit_document()).encode(),
        ],
        ids=["nothing", "empty", "list", "no event in it", "an event alone"],
    )
    def test_invalid_batch_is_rejected(
        self, client: FlaskClient, store: EventStore, body: bytes
    ) -> None:
        answer = client.post("/audit", data=body, headers=BEARER)
        assert (answer.status_code, store.files()) == (400, [])

    def test_batch_with_a_broken_event_is_not_stored(
        self, client: FlaskClient, store: EventStore
    ) -> None:
        items = [audit_document(1), {"kind": "Event"}]
        body = json.dumps({"kind": "EventList", "items": items})
        assert client.post("/audit", data=body, headers=BEARER).status_code == 400
        assert store.files() == []

    def test_batch_over_the_size_limit_is_rejected(
        self, client: FlaskClient, store: EventStore
    ) -> None:
        answer = client.post("/audit", data=batch(1, userAgent="x" * 100_000), headers=BEARER)
        assert (answer.status_code, store.files()) == (413, [])

    def test_full_disk_asks_the_sender_to_retry(
        self, client: FlaskClient, store: EventStore
    ) -> None:
        """Half of it fits; nothing of that is left."""
        client.post("/audit", data=batch(1), headers=BEARER)
        with no_file_longer_than(store.files()[0].stat().st_size + 100):
            answer = client.post("/audit", data=batch(2), headers=BEARER)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert kept_in(store) == ["audit-1"]
        assert client.post("/audit", data=batch(2), headers=BEARER).status_code == 200
        assert kept_in(store) == ["audit-1", "audit-2"]


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_token_is_compared_as_a_whole() -> None:
    assert is_known(f"bearer {TOKEN}", [TOKEN])
    assert not is_known(f"Bearer {TOKEN[:-1]}", [TOKEN])
    assert not is_known(f"Bearer {TOKEN}", [])


class TestStore:
    @staticmethod
    def ticking() -> Callable[[], datetime]:
        """Return a clock that goes on by a second each time that somebody looks."""
        times = (NOON + timedelta(seconds=n) for n in range(10_000))
        return lambda: next(times)

    def test_new_file_is_begun_when_one_is_full(self, tmp_path: Path, opened: Opened) -> None:
        size = len(parse_batch(batch(1))[0].line)
        store = opened(tmp_path, Limits(file_bytes=2 * size + 50), self.ticking())
        for minute in range(5):
            store.append(parse_batch(batch(minute)))
        assert len(store.files()) == 3
        assert kept_in(store) == [f"audit-{n}" for n in range(5)]

    def test_batch_larger_than_a_file_is_stored_whole(self, tmp_path: Path, opened: Opened) -> None:
        store = opened(tmp_path, Limits(file_bytes=10), self.ticking())
        assert store.append(parse_batch(batch(1, 2, 3))) == 3
        assert len(store.files()) == 1

    @pytest.mark.parametrize(
        "limits",
        [
            Limits(file_age=timedelta(hours=1), age=timedelta(hours=5)),
            Limits(file_age=timedelta(hours=1), total_bytes=3000),
        ],
        ids=["age", "size"],
    )
    def test_files_beyond_age_or_size_are_deleted_oldest_first(
        self, tmp_path: Path, limits: Limits, opened: Opened
    ) -> None:
        now = NOON
        store = opened(tmp_path, limits, lambda: now)
        for hour in range(0, 20, 2):
            now = NOON + timedelta(hours=hour)
            store.append(parse_batch(batch(hour * 60)))
        kept = kept_in(store)
        assert kept == [f"audit-{hour * 60}" for hour in range(20 - 2 * len(kept), 20, 2)]
        assert 0 < len(kept) < 6

    def test_stored_batches_are_recognised_after_a_restart(
        self, tmp_path: Path, opened: Opened
    ) -> None:
        first = opened(tmp_path)
        first.append(parse_batch(batch(1, 2)))
        first.close()
        second = opened(tmp_path)
        assert second.append(parse_batch(batch(2, 3))) == 1
        assert kept_in(second) == ["audit-1", "audit-2", "audit-3"]

    def test_file_torn_by_a_crash_is_not_continued(self, tmp_path: Path, opened: Opened) -> None:
        first = opened(tmp_path)
        first.append(parse_batch(batch(1)))
        [torn] = first.files()
        torn.write_bytes(torn.read_bytes() + b'{"kind":"Ev')
        second = opened(tmp_path)
        second.append(parse_batch(batch(2)))
        flaws: list[object] = []
        ids = [each.audit_id for each in read_events(second.files(), flaws.append)]
        assert (ids, len(flaws)) == (["audit-1", "audit-2"], 1)

    def test_stages_of_one_request_are_separate_events(self, store: EventStore) -> None:
        body = batch(1, stage="RequestReceived")
        assert store.append(parse_batch(body)) + store.append(parse_batch(batch(1))) == 2

    def test_age_of_the_youngest_event_is_returned(self, store: EventStore) -> None:
        assert store.age_at(at(9)) is None
        store.append(parse_batch(batch(3, 2)))
        age = store.age_at(at(9))
        assert age is not None
        assert timedelta(minutes=5) < age < timedelta(minutes=6)

    def test_deleted_folder_is_reported(self, tmp_path: Path, opened: Opened) -> None:
        store = opened(tmp_path / "events")
        (tmp_path / "events").rmdir()
        with pytest.raises(StoreUnavailable):
            store.append(parse_batch(batch(1)))

    def test_event_on_several_lines_is_stored_on_one(self, store: EventStore) -> None:
        document = {"kind": "EventList", "items": [audit_document(1)]}
        store.append(parse_batch(json.dumps(document, indent=2).encode()))
        assert kept_in(store) == ["audit-1"]
