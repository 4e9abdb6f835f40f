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


def test_records_chains_and_stamps_get_the_names_of_now() -> None:
    retelling = NameMap()
    retelling.learn(answer("r1", "old.stamp"), answer("r9", "new.stamp"))
    text = b'{"record": "r1", "chain": "digest of r1", "grant": "old.stamp", "other": "oldXstamp"}'
    assert json.loads(retelling.rename(text)) == {
        "record": "r9",
        "chain": "digest of r9",
        "grant": "new.stamp",
        "other": "oldXstamp",
    }


def test_what_people_wrote_is_nobodys_name() -> None:
    retelling = NameMap()
    retelling.learn(answer(stamp="s1", reason="down"), answer(stamp="s2", reason="up"))
    assert retelling.rename(b"down s1") == b"down s2"


def test_what_is_not_named_stays_as_it_is() -> None:
    assert NameMap().rename(b"r1") == b"r1"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(answer("r9", "stamp", allowed=False), id="another verdict"),
        pytest.param(answer("r9"), id="no stamp"),
        pytest.param(answer(stamp="stamp"), id="no record"),
    ],
)
def test_another_answer_than_back_then_is_not_passed_over(given: Response) -> None:
    with pytest.raises(StoryDiffers, match="otherwise than when this was recorded"):
        NameMap().learn(answer("r1", "stamp"), given)
