"""Real reviews, mutated: never a traceback, never an allow of a guarded change.

`make test` tries 100,000; GLASSWARDEN_FUZZ sets another number.
"""

import asyncio
import json
import os
import random
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest

from glasswarden.demo.story import load_recording
from glasswarden.ledger.record import Head, Record
from tests.ledger.builders import KEYS
from webhook.admission import Admission
from webhook.recording.recorder import Recorder
from webhook.recording.store import InlineLink
from webhook.reloading import Rules
from webhook.review import RequestRejected

TRIES = int(os.environ.get("GLASSWARDEN_FUZZ", "100000"))

Mutation = Callable[[random.Random, bytes], bytes]


class Forgetful:
    """A ledger that keeps nothing: what is tried here is the way to it."""

    def append(self, records: Sequence[Record]) -> None:
        """Take *records* and forget them."""

    def unwitnessed_heads(self) -> list[Head]:
        """Return nothing."""
        return []

    def open_grants(self, cluster: str, now: datetime) -> list[Record]:  # noqa: ARG002
        """Return nothing."""
        return []

    def close(self) -> None:
        """Give nothing back."""


def flip(chance: random.Random, body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(chance.randint(1, 4)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut(chance: random.Random, body: bytes) -> bytes:
    start = chance.randrange(len(body))
    return body[:start] + body[start + chance.randint(1, 200) :]


def splice(chance: random.Random, body: bytes) -> bytes:
    start, place = chance.randrange(len(body)), chance.randrange(len(body))
    return body[:place] + body[start : start + chance.randint(1, 200)] + body[place:]


def drop(chance: random.Random, body: bytes) -> bytes:
    return _edited(chance, body, lambda parent, key: parent.pop(key))


def junk(chance: random.Random, body: bytes) -> bytes:
    values: list[Any] = [None, True, 0, -1, 1e308, "", "\x00", [], {}, [[]], {"": {}}, "x" * 999]
    return _edited(chance, body, lambda parent, key: parent.__setitem__(key, chance.choice(values)))


def _edited(chance: random.Random, body: bytes, edit: Callable[[Any, Any], object]) -> bytes:
    """Return *body* after *edit* of one of its values, chosen by walking down at random."""
    review = json.loads(body)
    parent: Any = review
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        key = chance.choice(keys)
        child = parent[key]
        if not isinstance(child, dict | list) or not child or chance.random() < 0.15:
            break
        parent = child
    edit(parent, key)
    return json.dumps(review).encode()


MUTATIONS: tuple[Mutation, ...] = (flip, cut, splice, drop, junk)


def is_guarded_change(body: bytes) -> bool:
    """Tell, in its own words, whether *body* is an ordinary person's change to an owned object."""
    try:
        request = json.loads(body)["request"]
        return _is_persons(request) and _changes_an_owned_object(request)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _is_persons(request: dict[str, Any]) -> bool:
    return (
        request["userInfo"]["username"] == "developer"
        and "glasswarden:emergency" not in request["userInfo"]["groups"]
        and not request.get("subResource")
        and not request.get("dryRun")
    )


def _changes_an_owned_object(request: dict[str, Any]) -> bool:
    old: Any = request.get("oldObject")
    new: Any = request.get("object")
    subject = new if old is None else old
    if not _is_owned(subject) or "deletionTimestamp" in subject["metadata"]:
        return False
    if request["operation"] != "UPDATE":
        return request["operation"] in ("CREATE", "DELETE")
    # What an update was or shall be is not known to be nothing because it is not said.
    return None in (old, new) or bool(old["spec"]["replicas"] != new["spec"]["replicas"])


def _is_owned(obj: dict[str, Any]) -> bool:
    labels = obj["metadata"].get("labels") or {}
    marks = [labels.get(f"kustomize.toolkit.fluxcd.io/{part}") for part in ("name", "namespace")]
    references = obj["metadata"].get("ownerReferences", [])
    return (
        all(isinstance(mark, str) and mark for mark in marks)
        and not any(each.get("controller") for each in references)
        and (obj["kind"], obj["apiVersion"]) == ("Deployment", "apps/v1")
    )


@pytest.mark.e2e
@pytest.mark.timeout(900)
def test_mutated_reviews_never_allow_a_guarded_change() -> None:
    chance = random.Random(20260301)  # noqa: S311 - the same mutations every time
    exchanges = [each for step in load_recording().steps for each in step.exchanges]
    reviews = [bytes(each.review) for each in exchanges if each.door == "validate"]
    seen = asyncio.run(tried(chance, reviews))
    assert sum(seen.values()) == TRIES
    # The mutations reach both sides: what is refused as no review, and what is judged.
    assert min(seen["refused"], seen["denied"], seen["guarded"]) > TRIES // 100


async def tried(chance: random.Random, reviews: list[bytes]) -> dict[str, int]:
    admission = Admission(Rules(None), Recorder(InlineLink(Forgetful), "fuzz", "test", KEYS))
    seen = {"refused": 0, "allowed": 0, "denied": 0, "guarded": 0}
    for number in range(TRIES):
        body = MUTATIONS[number % len(MUTATIONS)](chance, chance.choice(reviews))
        try:
            response = json.loads(await admission.validate(body))["response"]
        except RequestRejected:
            seen["refused"] += 1
            continue
        if is_guarded_change(body):
            assert response["allowed"] is False, body
            seen["guarded"] += 1
        else:
            seen["allowed" if response["allowed"] else "denied"] += 1
    return seen
