"""`POST /audit`: receives events from the API server's audit webhook and stores them in files.

The events are evidence, so a sender must authenticate by a token from a file, which may hold the
next token beside the current one and is read for each batch. Events are stored as JSON lines and
synced before the response. Each store writes to its own files and never to existing ones, so
processes do not share files, and the files of a killed process are not changed. A batch that is
sent again is stored once.
"""

import hashlib
import hmac
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Final, Literal, NamedTuple

import msgspec
from flask import Blueprint, Response, request
from msgspec import Raw
from werkzeug.exceptions import RequestEntityTooLarge

from glasswarden.audit.event import Event, NotAnEvent, parse_event
from glasswarden.audit.files import read_events


class Received(NamedTuple):
    """One event of a batch."""

    event: Event
    line: bytes
    """As it came, on one line."""

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same event when it is sent again."""
        return self.event.audit_id, self.event.stage


class _List(msgspec.Struct):
    kind: Literal["EventList"]
    items: list[Raw] = []


_decoder: Final = msgspec.json.Decoder(_List)


def parse_batch(body: bytes) -> list[Received]:
    """Return the events of *body*, an EventList, or raise `NotAnEvent`."""
    try:
        items = _decoder.decode(body).items
    except msgspec.MsgspecError as error:
        raise NotAnEvent(f"no EventList: {error}") from error
    return [Received(parse_event(item), _compact(item)) for item in items]


def _compact(item: Raw) -> bytes:
    text = bytes(item)
    return (msgspec.json.format(text, indent=-1) if b"\n" in text else text) + b"\n"


PATTERN: Final = "audit-*.jsonl"
MOST_KEYS: Final = 100_000
"""Events that are remembered, so that they are kept once."""

_NAME: Final = "audit-%Y-%m-%dT%H-%M-%S.%f.jsonl"


class StoreUnavailable(Exception):
    """The events are not kept; send them again later."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept, and in which pieces."""

    file_bytes: int = 64 * 2**20
    file_age: timedelta = timedelta(days=1)
    """When a new file is begun; one that is so young is never removed."""
    total_bytes: int = 4 * 2**30
    age: timedelta = timedelta(days=30)
    """When a file is removed, and with it what the log witnesses of that time."""


class EventStore:
    """The files of one folder, and the one of them that is being written."""

    def __init__(
        self,
        folder: Path,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.folder = folder
        self.last_event: datetime | None = None
        """The time of the youngest event: how fresh the source is."""
        self._limits = limits
        self._clock = clock
        self._lock = Lock()
        self._keys: dict[tuple[str, str], None] = {}
        self._file: FileIO | None = None
        self._begun = clock()
        self._length = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._recall_keys()

    def files(self) -> list[Path]:
        """Return what is kept, oldest first."""
        return sorted(self.folder.glob(PATTERN))

    def append(self, batch: Sequence[Received]) -> int:
        """Keep what is new in *batch*; return how many that were, once they are on the disk."""
        with self._lock:
            fresh = {each.key: each for each in batch if each.key not in self._keys}
            if fresh:
                self._write(b"".join(each.line for each in fresh.values()))
                for each in fresh.values():
                    self._remember(each)
            return len(fresh)

    def age_at(self, now: datetime) -> timedelta | None:
        """Return how old the youngest event is, none where there is none."""
        return None if self.last_event is None else now - self.last_event

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._end_file()

    def _recall_keys(self) -> None:
        """Remember what the youngest files hold: it may be sent again to whoever comes after."""
        for event in read_events(self.files()[-2:], lambda _: None):
            self._remember_key((event.audit_id, event.stage), event.stage_timestamp)

    def _remember(self, received: Received) -> None:
        self._remember_key(received.key, received.event.stage_timestamp)

    def _remember_key(self, key: tuple[str, str], time: datetime) -> None:
        self._keys[key] = None
        if len(self._keys) > MOST_KEYS:
            del self._keys[next(iter(self._keys))]
        self.last_event = max(self.last_event or time, time)

    def _write(self, lines: bytes) -> None:
        try:
            file = self._open_current(len(lines))
            rest = memoryview(lines)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError as error:
            self._take_back()
            raise StoreUnavailable(f"{self.folder}: {error.strerror}") from error
        self._length += len(lines)

    def _open_current(self, more: int) -> FileIO:
        """Return the file to write to: a new one where the present one is full, or old."""
        is_full = self._length > 0 and self._length + more > self._limits.file_bytes
        if self._file is not None and not is_full and not self._is_old(self._begun):
            return self._file
        self._end_file()
        self._file = self._new_file()
        self._prune()
        return self._file

    def _new_file(self) -> FileIO:
        self._begun = self._clock()
        self._length = 0
        file = FileIO(self.folder / self._begun.strftime(_NAME), "x")
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)  # or the file's name may be lost with the power
        finally:
            os.close(folder)
        return file

    def _end_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take_back(self) -> None:
        """Leave no half of a batch behind: it is sent again, as a whole."""
        if self._file is None:
            return
        try:
            self._file.truncate(self._length)
            self._file.seek(self._length)
        except OSError:
            self._end_file()

    def _is_old(self, begun: datetime) -> bool:
        return self._clock() - begun >= self._limits.file_age

    def _prune(self) -> None:
        """Remove what is too old, then the oldest of what is too much."""
        files = self.files()
        total = sum(file.stat().st_size for file in files)
        for file in files:
            begun = datetime.strptime(file.name, _NAME).replace(tzinfo=UTC)
            is_aged = self._clock() - begun > self._limits.age
            if not self._is_old(begun) or not (is_aged or total > self._limits.total_bytes):
                return
            total -= file.stat().st_size
            file.unlink()


LARGEST: Final = 32 * 2**20
"""Bytes of one batch; the API server's own limit, where truncation is on, is 10 MiB."""

SHORTEST_TOKEN: Final = 20
RETRY_SECONDS: Final = 5


class TokensUnusable(Exception):
    """Every caller is rejected until the file with the tokens is corrected."""


def new_audit_intake(
    store: EventStore,
    tokens: Path,
    count: Callable[[str, int], None] = lambda _outcome, _events: None,
    largest: int = LARGEST,
) -> Blueprint:
    """Return the part of a Flask application that keeps batches in *store*.

    *tokens* has a token on each line; *count* hears what became of each batch.
    """
    intake = Blueprint("audit", __name__)

    def answer(status: HTTPStatus, outcome: str, text: str = "", events: int = 0) -> Response:
        count(outcome, events)
        response = Response(f"{text or status.phrase}\n", status, mimetype="text/plain")
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            # Without it the API server would drop the batch instead of sending it again.
            response.headers["Retry-After"] = str(RETRY_SECONDS)
        return response

    @intake.post("/audit")
    def receive() -> Response:
        """Keep a batch; 200 says that it is on the disk."""
        try:
            known = read_tokens(tokens)
        except TokensUnusable as error:
            return answer(HTTPStatus.SERVICE_UNAVAILABLE, "no-tokens", str(error))
        if not is_known(request.headers.get("Authorization", ""), known):
            return answer(HTTPStatus.UNAUTHORIZED, "stranger")
        request.max_content_length = largest
        try:
            kept = store.append(parse_batch(request.get_data(cache=False)))
        except RequestEntityTooLarge:
            return answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large")
        except NotAnEvent as error:
            return answer(HTTPStatus.BAD_REQUEST, "malformed", str(error))
        except StoreUnavailable as error:
            return answer(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", str(error))
        return answer(HTTPStatus.OK, "kept", f"{kept} kept", kept)

    return intake


def read_tokens(file: Path) -> list[str]:
    """Return the tokens in *file*, or raise `TokensUnusable`."""
    try:
        found = file.read_text(encoding="ascii").split()
    except (OSError, ValueError) as error:
        raise TokensUnusable("the file with the tokens cannot be read") from error
    if not found or min(map(len, found)) < SHORTEST_TOKEN:
        raise TokensUnusable(f"tokens must have at least {SHORTEST_TOKEN} characters")
    return found


def is_known(header: str, tokens: list[str]) -> bool:
    """Return whether *header* carries one of *tokens*, in a time that tells nothing about them."""
    scheme, _, given = header.partition(" ")
    digest = hashlib.sha256(given.strip().encode("utf-8", "surrogateescape")).digest()
    matches = [hmac.compare_digest(digest, hashlib.sha256(t.encode()).digest()) for t in tokens]
    return scheme.lower() == "bearer" and any(matches)
