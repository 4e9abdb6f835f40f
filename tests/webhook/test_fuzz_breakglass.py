"""Break-glass requests, mutated: no traceback, and no stamp for an unauthorized person."""

import asyncio
import base64
import json
import os
import random
from datetime import timedelta
from pathlib import Path

import pytest

from glasswarden.keys.folder import new_key
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.tokens import issue_stamp, read_stamp
from tests.ledger.builders import KEYS
from tests.policy.breakglass.builders import a_stamp
from tests.policy.builders import NOW
from tests.webhook.builders import a_deployment, a_request, as_review
from tests.webhook.test_fuzz import MUTATIONS, Forgetful
from tests.webhook.test_mutation import ASK, POLICY
from webhook.admission import Admission
from webhook.context import Reader
from webhook.mutation import Mutation
from webhook.recording.recorder import Recorder
from webhook.recording.store import InlineLink
from webhook.reloading import PREFIX, GrantKeys, Rules
from webhook.review import RequestRejected

TRIES = int(os.environ.get("GLASSWARDEN_FUZZ", "20000"))


def reviews(keys: GrantKeys) -> list[bytes]:
    """Return a request, a use of a grant, an end of it, and a forgery."""
    bare, asked = a_deployment(replicas=3), a_deployment(replicas=5)
    bare["metadata"]["resourceVersion"] = "41"
    asked["metadata"]["annotations"] = dict(ASK)
    stamped = a_deployment(replicas=3)
    stamp = a_stamp(actor="developer", actor_uid="", rule="all", expires=NOW + timedelta(days=9999))
    stamped["metadata"]["annotations"] = {**ASK, names.GRANT: issue_stamp(stamp, keys.ring, NOW)}
    used = json.loads(json.dumps(stamped)) | {"spec": {"replicas": 6}}
    pairs = [(bare, asked), (stamped, used), (stamped, a_deployment(replicas=3)), (bare, stamped)]
    return [as_review(a_request(oldObject=old, object=new)) for old, new in pairs]


@pytest.mark.e2e
@pytest.mark.timeout(600)
def test_mutated_requests_give_no_undue_stamp(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    new_key(tmp_path, PREFIX, NOW)
    rules, reader = Rules(tmp_path / "policy.yaml"), Reader(GrantKeys(tmp_path))
    seen = asyncio.run(tried(rules, reader))
    assert min(seen.values()) > TRIES // 100, seen


async def tried(rules: Rules, reader: Reader) -> dict[str, int]:
    chance = random.Random(20260301)  # noqa: S311 - the same mutations every time
    mutation = Mutation(rules, reader)
    admission = Admission(
        rules, Recorder(InlineLink(Forgetful), "fuzz", "test", KEYS), reader=reader
    )
    originals = reviews(reader.keys)
    seen = {"refused": 0, "stamped": 0, "passed": 0, "denied": 0}
    for number in range(TRIES):
        body = MUTATIONS[number % len(MUTATIONS)](chance, chance.choice(originals))
        try:
            response = json.loads(await mutation.mutate(body))["response"]
            verdict = json.loads(await admission.validate(body))["response"]
        except RequestRejected:
            seen["refused"] += 1
            continue
        assert response["allowed"] is True
        seen["denied"] += not verdict["allowed"]
        stamps = [each["value"] for each in edits(response) if each["path"].endswith("~1grant")
                  and "value" in each]  # fmt: skip
        seen["stamped" if stamps else "passed"] += 1
        for token in stamps:
            stamp = read_stamp(token, reader.keys.ring)
            assert stamp.actor == "developer", body
    return seen


def edits(response: dict[str, str]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(base64.b64decode(response.get("patch", "W10=")))
    return found
