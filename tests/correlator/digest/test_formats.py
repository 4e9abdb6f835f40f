"""Each format of a review says the same, and no text in it is obeyed."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from correlator.digest.formats import render_markdown, render_page, render_text
from correlator.digest.model import Review, render_json
from tests.correlator.digest.builders import a_hostile_review, the_review
from tests.correlator.report.builders import HOSTILE

GOLDEN = Path(__file__).with_name("golden")
RENDERERS: dict[str, Callable[[Review], str]] = {
    "review.md": render_markdown,
    "review.html": render_page,
    "review.txt": render_text,
    "review.json": lambda review: render_json(review).decode(),
}


@pytest.mark.parametrize("name", RENDERERS)
def test_digest_matches_its_golden_file(name: str) -> None:
    """GLASSWARDEN_RENEW=1 writes the golden files anew."""
    text = RENDERERS[name](the_review())
    if os.environ.get("GLASSWARDEN_RENEW") == "1":
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()


def test_html_escapes_hostile_text() -> None:
    page = render_page(a_hostile_review())
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in page


def test_markdown_escapes_hostile_text_and_keeps_its_columns() -> None:
    text = render_markdown(a_hostile_review())
    assert "\x1b" not in text
    assert not re.search(r"(?<!\\)<script", text)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = table.splitlines()
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_text_for_a_terminal_has_no_control_characters() -> None:
    assert all(line.isprintable() for line in render_text(a_hostile_review()).splitlines())


def test_json_keeps_hostile_text_unchanged() -> None:
    repeated = json.loads(render_json(a_hostile_review()))["repeated"]
    assert [HOSTILE] in [each["actors"] for each in repeated]


def test_source_that_was_not_inspected_is_reported() -> None:
    text = render_text(the_review(findings=None, episodes=None))
    assert "Today's drift was not checked." in text
    assert "No drift" not in text
