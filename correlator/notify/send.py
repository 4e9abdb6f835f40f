"""Sending messages over HTTP, with retries, in a thread for each target that delays nobody else."""

import hashlib
import hmac
import json
import queue
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Final

import structlog
import urllib3

from correlator.notify.config import Format, Target, is_safe
from correlator.notify.payload import render_json, render_slack
from correlator.notify.routing import Message

WAITING: Final = 100
"""Messages that wait for one target; more are dropped, and counted."""
TRIES: Final = 8
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 300.0
TIMEOUT: Final = urllib3.Timeout(connect=5.0, read=10.0)
SIGNATURE: Final = "X-Glasswarden-Signature"

_AGAIN: Final[set[int]] = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
}

log = structlog.get_logger()


class Outcome(StrEnum):
    """What became of a message."""

    SENT = "sent"
    REFUSED = "refused"
    """The target does not want it: its address or key is wrong."""
    GIVEN_UP = "given-up"
    DROPPED = "dropped"
    """Too many waited."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """How one try ended; without an outcome there is another."""

    reason: str
    outcome: Outcome | None = None
    retry_after: float = 0.0


def _answer_of(status: int, retry_after: str) -> _Answer:
    reason = f"HTTP {status}"
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return _Answer(reason, Outcome.SENT)
    if status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _AGAIN:
        return _Answer(reason, Outcome.REFUSED)
    return _Answer(reason, retry_after=_parse_retry_after(retry_after))


class Sender:
    """One target's messages, in order, by a thread of its own."""

    def __init__(
        self,
        target: Target,
        tell: Callable[[str, Outcome], None] = lambda _target, _outcome: None,
        *,
        tries: int = TRIES,
        first_pause: float = FIRST_PAUSE,
        timeout: urllib3.Timeout = TIMEOUT,
    ) -> None:
        self._target = target
        self._tell = tell
        self._tries = tries
        self._first_pause = first_pause
        self._pool = urllib3.PoolManager(retries=False, timeout=timeout)
        self._waiting: queue.Queue[Message | None] = queue.Queue(WAITING)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._send_all, daemon=True)
        self._thread.start()

    def put(self, message: Message) -> None:
        """Have *message* sent; where too many wait, it is dropped."""
        try:
            self._waiting.put_nowait(message)
        except queue.Full:
            self._finish(message, Outcome.DROPPED, "too many wait")

    def close(self, seconds: float = 5.0) -> None:
        """Send what waits, for so long; what is left then is given up."""
        with suppress(queue.Full):
            self._waiting.put(None, timeout=seconds)
        self._thread.join(seconds)
        self._ended.set()
        self._pool.clear()

    def _send_all(self) -> None:
        while (message := self._waiting.get()) is not None:
            if self._ended.is_set():
                return
            try:
                self._send(message)
            except Exception as error:  # noqa: BLE001 - one message must not end the thread
                self._finish(message, Outcome.GIVEN_UP, type(error).__name__)

    def _send(self, message: Message) -> None:
        answer = _Answer("nothing was tried")
        for number in range(self._tries):
            answer = self._try(message)
            if answer.outcome is not None:
                self._finish(message, answer.outcome, answer.reason)
                return
            if self._ended.wait(self._pause_after(number, answer)):
                break
        self._finish(message, Outcome.GIVEN_UP, answer.reason)

    def _try(self, message: Message) -> _Answer:
        try:
            response = self._post(message)
        except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
            # Its text may quote the address, which is a secret of its own.
            return _Answer(type(error).__name__)
        return _answer_of(response.status, response.headers.get("Retry-After", ""))

    def _pause_after(self, number: int, answer: _Answer) -> float:
        """Return how long to wait: as the target asks, else longer each time, and never in step."""
        if answer.retry_after:
            return min(answer.retry_after, LONGEST_PAUSE)
        longest = min(self._first_pause * 2.0**number, LONGEST_PAUSE)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret

    def _post(self, message: Message) -> urllib3.BaseHTTPResponse:
        is_slack = self._target.format is Format.SLACK
        payload = render_slack(message) if is_slack else render_json(message)
        body = json.dumps(payload, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "glasswarden"}
        if self._target.secret_file:
            secret = Path(self._target.secret_file).read_bytes().strip()
            headers[SIGNATURE] = signature_of(secret, body, int(time.time()))
        # Nobody may send us elsewhere with what was meant for one address.
        return self._pool.request(
            "POST", self._read_url(), body=body, headers=headers, redirect=False
        )

    def _read_url(self) -> str:
        if self._target.url:
            return self._target.url
        url = Path(self._target.url_file).read_text().strip()
        if not is_safe(url):
            raise ValueError(f"{self._target.url_file} holds no address that begins with https://")
        return url

    def _finish(self, message: Message, outcome: Outcome, reason: str = "") -> None:
        if outcome is not Outcome.SENT:
            log.warning(
                "notification not sent",
                target=self._target.name,
                about=message.about,
                outcome=outcome.value,
                reason=reason,
            )
        self._tell(self._target.name, outcome)


def signature_of(secret: bytes, body: bytes, now: int) -> str:
    """Return what proves that *body* is ours and of this time: `t=…,v1=…`."""
    mac = hmac.new(secret, f"{now}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={now},v1={mac}"


def _parse_retry_after(header: str) -> float:
    """Return what a Retry-After asks for: seconds, or a date."""
    try:
        if header.isdecimal():
            return float(header)
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return 0.0
