"""Events as the API server accepts them."""

from datetime import UTC, datetime

import pytest

from glasswarden.kube.events import (
    LONGEST_NOTE,
    Event,
    Reporter,
    Series,
    manifest_of,
    name_of,
    series_of,
    url_of,
)
from glasswarden.kube.objects import Ref

WEB = Ref("apps", "v1", "Deployment", "shop", "web", "0b6f9e0c")
ROLE = Ref("rbac.authorization.k8s.io", "v1", "ClusterRole", "", "system:reader")
REPORTER = Reporter("glasswarden.io/webhook", "web-1")
NOON = datetime(2026, 3, 1, 12, 0, 0, 7, tzinfo=UTC)


def an_event(regarding: Ref = WEB, note: str = "somebody was refused") -> Event:
    return Event(regarding, "WriteRefused", "Update", note, warning=True)


def test_event_names_its_object_and_its_reporter() -> None:
    assert manifest_of(an_event(), "web.1", REPORTER, NOON) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "web.1", "namespace": "shop"},
        "eventTime": "2026-03-01T12:00:00.000007Z",
        "reportingController": "glasswarden.io/webhook",
        "reportingInstance": "web-1",
        "type": "Warning",
        "reason": "WriteRefused",
        "action": "Update",
        "note": "somebody was refused",
        "regarding": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "namespace": "shop",
            "name": "web",
            "uid": "0b6f9e0c",
        },
    }


def test_event_of_a_cluster_scoped_object_is_in_the_default_namespace() -> None:
    manifest = manifest_of(an_event(ROLE), "x", REPORTER, NOON)
    assert manifest["metadata"]["namespace"] == "default"
    assert "namespace" not in manifest["regarding"]
    assert url_of(an_event(ROLE), "x") == "/apis/events.k8s.io/v1/namespaces/default/events/x"


@pytest.mark.parametrize(
    ("name", "becomes"),
    [
        ("web", "web.12ab"),
        ("system:reader", "glasswarden.12ab"),
        ("w" * 250, "glasswarden.12ab"),
    ],
    ids=["ordinary", "no name for an Event", "too long"],
)
def test_event_is_named_after_its_object_where_valid(name: str, becomes: str) -> None:
    ref = Ref("", "v1", "ConfigMap", "shop", name)
    assert name_of(an_event(ref), "12ab") == becomes


@pytest.mark.parametrize("text", ["x" * 5000, "é" * 5000, "…" * 5000])
def test_long_note_is_cut_to_the_limit(text: str) -> None:
    note = manifest_of(an_event(note=text), "x", REPORTER, NOON)["note"]
    assert LONGEST_NOTE - 4 <= len(note.encode()) <= LONGEST_NOTE
    assert note.endswith("…")


def test_control_characters_in_a_note_are_replaced() -> None:
    note = manifest_of(an_event(note="a\x1b[2J\nb"), "x", REPORTER, NOON)["note"]
    assert note == "a\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}b"


def test_series_has_count_and_last_time() -> None:
    assert series_of(Series(3, NOON)) == {
        "series": {"count": 3, "lastObservedTime": "2026-03-01T12:00:00.000007Z"}
    }
