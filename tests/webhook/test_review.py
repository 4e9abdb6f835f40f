"""Untrusted bytes become a request, or an error that says what is wrong with them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from glasswarden.policy.decision import Clause, Decision, Verdict
from tests.webhook.builders import a_request, a_review, as_review
from webhook.review import ReviewMalformed, parse_review, render_answer


def without(request: dict[str, Any], field: str) -> dict[str, Any]:
    return {key: value for key, value in request.items() if key != field}


MALFORMED = {
    "empty": b"",
    "no JSON": b"{",
    "an array": b"[]",
    "null": b"null",
    "no request": json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    ).encode(),
    "another version": a_review().replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
    "another kind": a_review().replace(b"AdmissionReview", b"Status"),
    "no uid": as_review(without(a_request(), "uid")),
    "a number for uid": a_review(uid=7),
    "an unknown operation": a_review(operation="MERGE"),
    "no user": as_review(without(a_request(), "userInfo")),
    "text for object": a_review(object="x"),
    "no object at all": a_review(object=None, oldObject=None),
    "an update of nothing": a_review(oldObject=None),
    "an update to nothing": a_review(object=None),
    "an update that does not say of what": as_review(without(a_request(), "oldObject")),
    "a creation of nothing": a_review(operation="CREATE", object=None),
    "a deletion of nothing": a_review(operation="DELETE", oldObject=None),
    "not UTF-8": a_review().replace(b"developer", b"\xff\xfe"),
    "NaN": a_review().replace(b'"replicas": 5', b'"replicas": NaN'),
    "nested beyond reason": a_review().replace(b'"replicas": 5', b'"replicas": ' + b"[" * 100_000),
    "a tail": a_review() + b"{}",
    "two requests": a_review()[:-1] + b', "request": {}}',
    "two labels of one name": a_review().replace(
        b'"name": "web"', b'"name": "web", "name": "x"', 1
    ),
    "two spellings of one key": a_review()[:-1] + b', "re\\u0071uest": {}}',
}


def as_go_spells(body: bytes) -> bytes:
    compact = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False)
    for plain in "<>&":
        compact = compact.replace(plain, f"\\u{ord(plain):04x}")
    return compact.encode() + b"\n"


SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "with spaces": lambda body: body,
    "compact": lambda body: json.dumps(json.loads(body), separators=(",", ":")).encode(),
    "as Go's encoder writes": as_go_spells,
}


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
def test_review_is_parsed_alike_in_every_spelling(spelled: Callable[[bytes], bytes]) -> None:
    body = a_review(userInfo={"username": "a<b>&c\\u003c é\u2028"})
    assert parse_review(spelled(body)) == parse_review(body)


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
def test_a_repeated_key_is_found_in_every_spelling(spelled: Callable[[bytes], bytes]) -> None:
    body = spelled(a_review(userInfo={"username": "a<b"})).rstrip(b"\n")
    with pytest.raises(ReviewMalformed, match="twice"):
        parse_review(body[:-1] + b',"kind":"AdmissionReview"}\n')


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_malformed_review_is_rejected(body: bytes) -> None:
    with pytest.raises(ReviewMalformed):
        parse_review(body)


def test_a_denial_is_answered_as_forbidden() -> None:
    decision = Decision(Verdict.DENY, Clause.GUARD)
    review = json.loads(render_answer("u-1", decision, {"record": "r-1"}, message="no"))
    assert review == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": "u-1",
            "allowed": False,
            "status": {"code": 403, "reason": "Forbidden", "message": "no"},
            "auditAnnotations": {"record": "r-1"},
        },
    }


def test_allowed_answer_has_only_uid_and_verdict() -> None:
    review = json.loads(render_answer("u-1", Decision(Verdict.ALLOW, Clause.UNMANAGED), {}))
    assert review["response"] == {"uid": "u-1", "allowed": True}
