"""The mutating webhook's answers, byte for byte what an API server takes."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from glasswarden.keys.folder import new_key
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.tokens import read_stamp
from tests.policy.builders import NOW
from tests.webhook.builders import a_deployment, a_review
from webhook.context import Reader
from webhook.mutation import Mutation
from webhook.reloading import PREFIX, GrantKeys, Rules
from webhook.review import ReviewMalformed

POLICY = """apiVersion: glasswarden.io/v1
kind: Policy
breakGlass: {rules: [{name: all, users: [developer], ttl: {longest: 9999d}}]}
"""
ASK = {names.REASON: "checkout is down", names.TICKET: "INC-42", names.TTL: "10m"}


@pytest.fixture
def mutation(tmp_path: Path) -> Mutation:
    (tmp_path / "policy.yaml").write_text(POLICY)
    new_key(tmp_path, PREFIX, NOW)
    return Mutation(Rules(tmp_path / "policy.yaml"), Reader(GrantKeys(tmp_path)))


def asking(**differing: Any) -> bytes:  # noqa: ANN401 - any field of a request
    old, new = a_deployment(replicas=3), a_deployment(replicas=5)
    old["metadata"]["resourceVersion"] = "41"
    new["metadata"]["annotations"] = dict(ASK)
    return a_review(**{"object": new, "oldObject": old} | differing)


def answered(mutation: Mutation, body: bytes) -> dict[str, Any]:
    review = json.loads(asyncio.run(mutation.mutate(body)))
    response: dict[str, Any] = review["response"]
    assert response["allowed"] is True
    return response


def test_a_request_is_stamped_by_a_json_patch(mutation: Mutation) -> None:
    response = answered(mutation, asking())
    assert response["patchType"] == "JSONPatch"
    [edit] = json.loads(base64.b64decode(response["patch"]))
    assert (edit["op"], edit["path"]) == (
        "add",
        "/metadata/annotations/breakglass.glasswarden.io~1grant",
    )
    stamp = read_stamp(edit["value"], mutation.reader.keys.ring)
    assert (stamp.actor, stamp.uid, stamp.version, stamp.held) == (
        "developer",
        "0b6f9e0c",
        "41",
        ("/spec/replicas",),
    )


@pytest.mark.parametrize(
    "differing",
    [
        pytest.param({"userInfo": {"username": "outsider"}}, id="a request that is not granted"),
        pytest.param({"object": a_deployment(replicas=9)}, id="no request"),
        pytest.param({"operation": "DELETE", "object": None}, id="a deletion"),
        pytest.param({"operation": "CREATE", "oldObject": None}, id="a creation"),
    ],
)
def test_other_writes_are_not_patched(mutation: Mutation, differing: dict[str, Any]) -> None:
    assert "patch" not in answered(mutation, asking(**differing))


def test_request_is_not_stamped_without_a_key(mutation: Mutation) -> None:
    keyless = Mutation(mutation.rules, Reader())
    assert "patch" not in answered(keyless, asking())


def test_malformed_review_is_rejected(mutation: Mutation) -> None:
    with pytest.raises(ReviewMalformed):
        asyncio.run(mutation.mutate(b"{}"))
