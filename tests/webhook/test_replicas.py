"""Replicas agree on how many grants are open, by the ledger that they share."""

import asyncio
import base64
import copy
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from glasswarden.keys.folder import new_key
from glasswarden.ledger.errors import LedgerUnavailable
from glasswarden.ledger.spool import new_spool
from glasswarden.ledger.sqlite.driver import SqliteLedger
from glasswarden.policy.breakglass import names
from tests.json_patches import apply_patch
from tests.ledger.builders import KEYS
from tests.policy.builders import NOW
from tests.webhook.builders import Object, a_deployment, a_review
from webhook.admission import Admission
from webhook.context import Reader
from webhook.mutation import Mutation
from webhook.recording.recorder import Recorder
from webhook.recording.store import links_to
from webhook.reloading import PREFIX, GrantKeys, Rules

POLICY = """apiVersion: glasswarden.io/v1
kind: Policy
breakGlass: {rules: [{name: all, users: [developer], mostOpen: {person: 1}}]}
"""
ASK = {names.REASON: "checkout is down", names.TICKET: "INC-42", names.TTL: "10m"}
TOO_MANY = "one person has at most 1 grants open at once"


class Replica:
    """One process of the webhook: its own recorder and tally, and the ledger of all."""

    def __init__(self, folder: Path, name: str) -> None:
        rules, link = Rules(folder / "policy.yaml"), links_to(f"sqlite://{folder}/ledger.db")[0]
        self.link = link
        self.recorder = Recorder(
            link,
            name,
            rules.policy.cluster,
            KEYS,
            lambda writer: new_spool(folder / "spool", writer, 1_000_000),
        )
        reader = Reader(GrantKeys(folder), recorded=self.recorder)
        self._mutation = Mutation(rules, reader)
        self._admission = Admission(rules, self.recorder, reader=reader)

    async def write(self, old: Object, new: Object) -> tuple[Object, str]:
        """Return what is stored of *new*, and why it is not."""
        sent = {"oldObject": old, "object": new}
        answer = json.loads(await self._mutation.mutate(a_review(**sent)))["response"]
        patch = json.loads(base64.b64decode(answer.get("patch", "W10=")))
        stored = apply_patch(new, patch)
        review = a_review(**sent | {"object": stored})
        said = json.loads(await self._admission.validate(review))["response"]
        return (stored, "") if said["allowed"] else (old, said["status"]["message"])

    async def ask(self, name: str) -> tuple[Object, str]:
        """Let the developer break the glass on the Deployment *name*."""
        old = named(name)
        new = copy.deepcopy(old)
        new["metadata"]["annotations"] = dict(ASK)
        return await self.write(old, new)


def named(name: str) -> Object:
    found = a_deployment()
    found["metadata"] |= {"name": name, "uid": f"uid-{name}", "resourceVersion": "41"}
    return found


def closed(obj: Object) -> Object:
    found = copy.deepcopy(obj)
    for name in names.ASKED:
        del found["metadata"]["annotations"][name]
    return found


Play = Callable[[Replica, Replica], Coroutine[Any, Any, None]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Play], None]:
    """Return what runs a play of two replicas on one ledger."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    new_key(tmp_path, PREFIX, NOW)

    async def run(scenes: Play) -> None:
        replicas = Replica(tmp_path, "one"), Replica(tmp_path, "other")
        for replica in replicas:
            await replica.recorder.open()
        await scenes(*replicas)
        for replica in replicas:
            await replica.recorder.close()

    return lambda scenes: asyncio.run(run(scenes))


def test_grant_of_one_replica_counts_for_the_other(play: Callable[[Play], None]) -> None:
    async def scenes(one: Replica, other: Replica) -> None:
        assert (await one.ask("web"))[1] == ""
        assert TOO_MANY in (await other.ask("api"))[1]

    play(scenes)


def test_grant_closed_by_the_other_replica_does_not_count(play: Callable[[Play], None]) -> None:
    async def scenes(one: Replica, other: Replica) -> None:
        web, _ = await one.ask("web")
        assert (await other.write(web, closed(web)))[1] == ""
        assert (await one.ask("api"))[1] == ""

    play(scenes)


def test_retried_write_does_not_count_against_itself(
    play: Callable[[Play], None],
) -> None:
    async def scenes(one: Replica, other: Replica) -> None:
        assert (await one.ask("web"))[1] == ""  # nothing stored: the object had moved
        web, why = await other.ask("web")
        assert why == ""
        assert (await one.write(web, closed(web)))[1] == ""
        assert (await other.ask("api"))[1] == ""

    play(scenes)


def test_replica_counts_only_its_own_grants_while_the_ledger_is_unavailable(
    play: Callable[[Play], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise LedgerUnavailable("the database has gone")

    async def scenes(one: Replica, other: Replica) -> None:
        await one.ask("web")
        monkeypatch.setattr(SqliteLedger, "open_grants", away)
        assert TOO_MANY in (await one.ask("api"))[1]
        assert (await other.ask("api"))[1] == ""

    play(scenes)
