"""`POST /audit`: where the API server's audit webhook delivers its events.

What is delivered here is evidence, so whoever delivers must prove to be the API server: by a token
from a file, which may hold the next one beside the present one and is read anew for each batch.
"""

import hashlib
import hmac
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final

from flask import Blueprint, Response, request
from werkzeug.exceptions import RequestEntityTooLarge

from correlator.audit.batch import parse_batch
from correlator.audit.store import EventStore, StoreUnavailable
from glasswarden.audit.event import NotAnEvent

LARGEST: Final = 32 * 2**20
"""Bytes of one batch; the API server's own limit, where truncation is on, is 10 MiB."""

SHORTEST_TOKEN: Final = 20
RETRY_SECONDS: Final = 5


class TokensUnusable(Exception):
    """Nobody can be let in until the file with the tokens is mended."""


def audit_intake(
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
    """Tell whether *header* carries one of *tokens*, in a time that tells nothing about them."""
    scheme, _, given = header.partition(" ")
    digest = hashlib.sha256(given.strip().encode("utf-8", "surrogateescape")).digest()
    matches = [hmac.compare_digest(digest, hashlib.sha256(t.encode()).digest()) for t in tokens]
    return scheme.lower() == "bearer" and any(matches)
