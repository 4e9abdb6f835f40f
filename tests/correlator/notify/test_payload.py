"""Hostile text in a name or a reason is rendered as text, without effect."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from correlator.notify.payload import LONGEST, escape_slack, render_json, render_slack
from correlator.notify.routing import Message
from tests.correlator.notify.builders import an_event


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<!channel> look", "&lt;!channel&gt; look"),
        ("<https://evil.example|Git>", "&lt;https://evil.example|Git&gt;"),
        ("a & b", "a &amp; b"),
        ("one\ntwo\r\n\tthree", "one two three"),
        ("\x1b[31mred", "[31mred"),
        ("x" * 1000, "x" * (LONGEST - 1) + "…"),
    ],
)
def test_texts_are_escaped_in_the_payload(text: str, shown: str) -> None:
    assert escape_slack(text) == shown


@given(st.text())
def test_text_cannot_mention_link_or_break_a_line(text: str) -> None:
    event = an_event(says=text, actor=text, subject=text, ticket=text)
    body = render_slack(Message("storefront", text, (event,)))["text"]
    assert body.count("\n") == 1
    assert "<" not in body
    assert ">" not in body


def test_slack_payload_has_one_line_per_event() -> None:
    message = Message("storefront", "INC-42", (an_event(ticket="INC-42"),), more=3)
    assert render_slack(message)["text"] == (
        "*INC-42*: 4 events\n"
        "• 12:00 UTC `denied` Deployment shop/web: edit denied: /spec/replicas "
        "(developer) [INC-42]\n"
        "… and 3 more"
    )


def test_json_payload_has_every_field() -> None:
    message = Message("platform", "shop", (an_event(), an_event(id="2")), more=1)
    payload = json.loads(json.dumps(render_json(message)))
    assert payload["counts"] == {"denied": 2}
    assert payload["more"] == 1
    assert payload["events"][0]["application"] == "flux-system/shop"
    assert payload["events"][0]["time"] == "2026-03-02T12:00:00+00:00"
