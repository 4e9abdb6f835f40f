"""`finding`: what every source gives, and the form that programs read."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from correlator.attribution.link import Confidence, Link, State
from correlator.finding import (
    HIDDEN,
    PART,
    Cause,
    Class,
    Finding,
    Incomplete,
    Response,
    Result,
    Verdict,
    hide_secrets,
    parse_time,
    result_as_json,
)
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import ROOT, parse_path
from glasswarden.policy.load import parse_document
from glasswarden.policy.policy import DEFAULT, policy_of

WEB = Ref("apps", "v1", "Deployment", "prod", "web", "u1")
KEYS = Ref("", "v1", "Secret", "prod", "keys")


def a_finding(
    ref: Ref = WEB, field: str = "/spec/replicas", declared: Value = 3, live: Value = 5
) -> Finding:
    since = datetime(2026, 3, 1, 10, tzinfo=UTC)
    return Finding(ref, parse_path(field), declared, live, since, "git", "abc123")


def test_json_of_a_finding_is_as_documented() -> None:
    verdict = Verdict(
        Class.DESIRED_CONFIGURATION, Cause.PERSON, Response.ALERT, "because", "kubectl get"
    )
    finding = Finding(
        WEB, parse_path("/spec/replicas"), 3, ABSENT, None, "git", "abc123", verdict=verdict
    )
    assert result_as_json(Result((finding,), (Incomplete("a.yaml", "broken"),))) == {
        "findings": [
            {
                "object": {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "namespace": "prod",
                    "name": "web",
                    "uid": "u1",
                },
                "field": "/spec/replicas",
                "declared": 3,
                "live": None,
                "class": "desired-configuration",
                "cause": "person",
                "response": "alert",
                "reason": "because",
                "verify": "kubectl get",
                "suggestion": "",
                "source": "git",
                "since": None,
                "revision": "abc123",
                "link": None,
                "behind": "",
            }
        ],
        "incomplete": [{"what": "a.yaml", "why": "broken"}],
    }


def test_time_is_formatted_as_in_kubernetes() -> None:
    [finding] = result_as_json(Result((a_finding(),)))["findings"]
    assert finding["since"] == "2026-03-01T10:00:00Z"


def test_json_of_a_link_is_as_documented() -> None:
    link = Link(
        State.EXPLAINED,
        records=("r1",),
        actor="responder",
        manager="kubectl-edit",
        time=datetime(2026, 3, 1, 12, tzinfo=UTC),
        ticket="INC-42",
        grant="g1",
        evidence=("record r1 set the field to its live value",),
        confidence=Confidence.LIKELY,
    )
    [finding] = result_as_json(Result((replace(a_finding(), link=link),)))["findings"]
    assert finding["link"] == {
        "state": "explained",
        "why": "",
        "records": ["r1"],
        "actor": "responder",
        "impersonator": "",
        "address": "",
        "manager": "kubectl-edit",
        "time": "2026-03-01T12:00:00Z",
        "ticket": "INC-42",
        "grant": "g1",
        "evidence": ["record r1 set the field to its live value"],
        "confidence": "likely",
    }


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z"])
def test_invalid_time_is_parsed_as_none(text: str) -> None:
    assert parse_time(text) is None


HIDING = [
    pytest.param(a_finding(KEYS, "/data/password", "YQ==", "Yg=="), HIDDEN, HIDDEN, id="changed"),
    pytest.param(a_finding(KEYS, "/data/password", ABSENT, "Yg=="), ABSENT, HIDDEN, id="added"),
    pytest.param(a_finding(KEYS, "/data", {"a": "YQ=="}, ABSENT), HIDDEN, ABSENT, id="all of it"),
    pytest.param(
        Finding(KEYS, ROOT, {"data": {"a": "YQ=="}}, ABSENT, None, "git"), HIDDEN, ABSENT,
        id="the object",
    ),
    pytest.param(
        Finding(KEYS, ROOT, "  a: YQ==", "  a: Yg==", None, "kubectl-diff"), HIDDEN, HIDDEN,
        id="lines of the object",
    ),
    pytest.param(
        Finding(KEYS, ROOT, "Synced", "OutOfSync", None, "argocd-core"), "Synced", "OutOfSync",
        id="a word about the object",
    ),
    pytest.param(a_finding(KEYS, "/metadata/labels/a", "x", "y"), "x", "y", id="a label"),
    pytest.param(a_finding(WEB, "/spec/replicas", 3, 5), 3, 5, id="no secret"),
]  # fmt: skip


@pytest.mark.parametrize(("finding", "declared", "live"), HIDING)
def test_values_of_secrets_are_hidden(finding: Finding, declared: Value, live: Value) -> None:
    hidden = hide_secrets(finding, DEFAULT)
    assert (hidden.declared, hidden.live) == (declared, live)


def test_values_at_sensitive_paths_of_the_policy_are_hidden() -> None:
    policy = policy_of(
        parse_document(
            "apiVersion: glasswarden.io/v1\nkind: Policy\n"
            "sensitive: [{kinds: [Deployment], fields: ['/spec/replicas']}]\n"
        )
    )
    assert hide_secrets(a_finding(), policy).live == HIDDEN


SENSITIVE = policy_of(
    parse_document(
        "apiVersion: glasswarden.io/v1\nkind: Policy\n"
        "sensitive: [{kinds: [ConfigMap], fields: ['/data/password', '/**/token']}]\n"
    )
)


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("/", "  password: hunter2", HIDDEN),
        ("/data", f"{PART}password: hunter2", HIDDEN),
        ("/data/user", "me", "me"),
    ],
)
def test_lines_that_can_contain_a_sensitive_value_are_hidden(
    field: str, value: str, shown: str
) -> None:
    ref = Ref("", "v1", "ConfigMap", "prod", "web")
    finding = hide_secrets(a_finding(ref, field, value, value), SENSITIVE)
    assert (finding.declared, finding.live) == (shown, shown)
