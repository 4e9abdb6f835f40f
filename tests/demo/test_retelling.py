"""What a story calls by name is called otherwise when it is lived through again."""

import base64
import json

import pytest

from glasswarden.demo.story import NameMap, Response, StoryDiffers, parse_answer

ANNOTATIONS = "/metadata/annotations/breakglass.glasswarden.io"


def answer(
    record: str = "", stamp: str = "", reason: str = "", *, allowed: bool = True
) -> Response:
    written = {"reason": reason, "grant": stamp}
    edits = [
        {"op": "add", "path": f"{ANNOTATIONS}~1{name}", "value": value}
        for name, value in written.items()
        if value
    ]
    patch = json.dumps(edits)
    witnessed = {"record": record, "chain": f"digest of {record}"} if record else {}
    response = {
        "allowed": allowed,
        "auditAnnotations": witnessed,
        "patch": base64.b64encode(patch.encode()).decode(),
    }
    return parse_answer(json.dumps({"response": response}).encode())


def test_recorded_ids_digests_and_stamps_are_replaced_by_current_ones() -> None:
    retelling = NameMap()
    retelling.learn(answer("r1", "old.stamp"), answer("r9", "new.stamp"))
    text = b'{"record": "r1", "chain": "digest of r1", "grant": "old.stamp", "other": "oldXstamp"}'
    assert json.loads(retelling.rename(text)) == {
        "record": "r9",
        "chain": "digest of r9",
        "grant": "new.stamp",
        "other": "oldXstamp",
    }


def test_text_written_by_people_is_not_replaced() -> None:
    retelling = NameMap()
    retelling.learn(answer(stamp="s1", reason="down"), answer(stamp="s2", reason="up"))
    assert retelling.rename(b"down s1") == b"down s2"


def test_unknown_text_is_not_replaced() -> None:
    assert NameMap().rename(b"r1") == b"r1"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(answer("r9", "stamp", allowed=False), id="another verdict"),
        pytest.param(answer("r9"), id="no stamp"),
        pytest.param(answer(stamp="stamp"), id="no record"),
    ],
)
def test_answer_that_differs_from_the_recording_is_an_error(given: Response) -> None:
    with pytest.raises(StoryDiffers, match="otherwise than when this was recorded"):
        NameMap().learn(answer("r1", "stamp"), given)
