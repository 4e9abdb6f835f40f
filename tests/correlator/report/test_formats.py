"""Each format says the same, and no text in it is obeyed."""

import csv
import io
import json
import os
import re
from pathlib import Path

import pytest

from correlator.report.markdown import render_markdown
from correlator.report.model import Report, as_json, schema
from correlator.report.page import render_page
from correlator.report.table import COLUMNS, render_csv
from correlator.report.timeline import spread
from correlator.report.words import markdown
from tests.correlator.report.builders import HOSTILE, a_hostile_report, the_report

GOLDEN = Path(__file__).with_name("golden")
RENEW = os.environ.get("GLASSWARDEN_RENEW") == "1"
TITLE = "Changes by hand: INC-42"
IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def rendered(report: Report, name: str) -> str:
    match name:
        case "report.md":
            return render_markdown(report, TITLE)
        case "report.html":
            return render_page(report, TITLE)
        case "report.csv":
            return render_csv(report)
        case _:
            return as_json(report).decode()


@pytest.mark.parametrize("name", ["report.md", "report.html", "report.csv", "report.json"])
def test_a_report_reads_as_it_did(name: str) -> None:
    """GLASSWARDEN_RENEW=1 writes the golden files anew."""
    text = IDS.sub("RECORD", rendered(the_report(), name))
    if RENEW:
        (GOLDEN / name).write_text(text, newline="")
    assert text == _golden(name)


def _golden(name: str) -> str:
    with (GOLDEN / name).open(newline="") as file:
        return file.read()


def test_the_published_schema_is_that_of_the_code() -> None:
    published = Path(__file__).parents[3] / "docs" / "report.schema.json"
    assert json.loads(published.read_text()) == json.loads(json.dumps(schema()))


class TestHostileText:
    def test_html_shows_it_and_runs_nothing(self) -> None:
        page = render_page(a_hostile_report(), HOSTILE)
        assert "<script" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "\x1b" not in page

    def test_markdown_shows_it_as_text(self) -> None:
        text = render_markdown(a_hostile_report(), HOSTILE)
        assert "\x1b" not in text
        outside_code = re.sub(r"(`+).*?\1", "", text)
        assert not re.search(r"(?<!\\)<script", outside_code)

    def test_markdown_tables_keep_their_columns(self) -> None:
        lines = render_markdown(a_hostile_report(), "x").splitlines()
        rows = [line for line in lines if line.startswith("| ")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {8}

    @pytest.mark.parametrize(
        ("text", "shown"),
        [("1. it", r"1\. it"), ("12) it", r"12\) it"), ("- it", r"\- it"), ("1.5", r"1\.5")],
    )
    def test_markdown_makes_no_list_of_it(self, text: str, shown: str) -> None:
        assert markdown(text) == shown

    def test_csv_has_no_formula(self) -> None:
        rows = list(csv.reader(io.StringIO(render_csv(a_hostile_report()))))
        assert {len(row) for row in rows} == {len(COLUMNS)}
        assert not [cell for row in rows for cell in row if cell[:1] in set("=+-@\t\r")]

    def test_json_keeps_it_whole(self) -> None:
        [write] = json.loads(as_json(a_hostile_report()))["writes"]
        assert write["actor"] == HOSTILE
        assert write["changes"][0]["new"] == HOSTILE


def test_breaking_the_glass_is_told_as_that() -> None:
    told = render_markdown(the_report(), TITLE)
    assert "responder: broke the glass on Deployment shop/web was allowed" in told


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        pytest.param([], [], id="none"),
        pytest.param([300.0], [300.0], id="one"),
        pytest.param([300.0, 300.0, 500.0], [300.0, 322.0, 500.0], id="two at once"),
        pytest.param([878.0, 878.0], [856.0, 878.0], id="at the end"),
    ],
)
def test_marks_are_moved_apart_by_no_more_than_needed(
    places: list[float], moved: list[float]
) -> None:
    assert spread(places) == moved
