"""Each format says the same, and no text in it is obeyed."""

import csv
import io
import json
import os
import re
from pathlib import Path

import pytest

from correlator.output.escape import escape_cell, escape_markdown, render_code, render_code_cell
from correlator.report.compose import compose_report
from correlator.report.csv import COLUMNS, render_csv
from correlator.report.html import render_page, spread_apart
from correlator.report.markdown import render_markdown
from correlator.report.model import Report, Scope, render_json, report_schema
from tests.correlator.attribution.builders import at
from tests.correlator.report.builders import (
    HOSTILE,
    IMAGE,
    a_hostile_report,
    around,
    granted,
    the_report,
)

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
            return render_json(report).decode()


@pytest.mark.parametrize("name", ["report.md", "report.html", "report.csv", "report.json"])
def test_report_matches_its_golden_file(name: str) -> None:
    """GLASSWARDEN_RENEW=1 writes the golden files anew."""
    text = IDS.sub("RECORD", rendered(the_report(), name))
    if RENEW:
        (GOLDEN / name).write_text(text, newline="")
    assert text == _golden(name)


def _golden(name: str) -> str:
    with (GOLDEN / name).open(newline="") as file:
        return file.read()


def test_published_schema_matches_the_code() -> None:
    published = Path(__file__).parents[3] / "docs" / "report.schema.json"
    assert json.loads(published.read_text()) == json.loads(json.dumps(report_schema()))


class TestHostileText:
    def test_html_escapes_hostile_text(self) -> None:
        page = render_page(a_hostile_report(), HOSTILE)
        assert "<script" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "\x1b" not in page

    def test_markdown_escapes_hostile_text(self) -> None:
        text = render_markdown(a_hostile_report(), HOSTILE)
        assert "\x1b" not in text
        outside_code = re.sub(r"(`+).*?\1", "", text)
        assert not re.search(r"(?<!\\)<script", outside_code)

    def test_markdown_tables_keep_their_columns_with_hostile_text(self) -> None:
        lines = render_markdown(a_hostile_report(), "x").splitlines()
        rows = [line for line in lines if line.startswith("| ")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {10}

    @pytest.mark.parametrize(
        ("text", "shown"),
        [("1. it", r"1\. it"), ("12) it", r"12\) it"), ("- it", r"\- it"), ("1.5", r"1\.5")],
    )
    def test_markdown_makes_no_list_of_hostile_text(self, text: str, shown: str) -> None:
        assert escape_markdown(text) == shown

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("ask @team/ops now", "ask `@team/ops` now"),
            ("a@b.example", "a@b.example"),
            ("see https://evil.example/_x_?a=1", "see `https://evil.example/_x_?a=1`"),
            ("www.evil.example", "`www.evil.example`"),
            ("a & b", r"a \& b"),
        ],
    )
    def test_markdown_has_no_mentions_and_no_links_from_hostile_text(
        self, text: str, shown: str
    ) -> None:
        assert escape_markdown(text) == shown

    @pytest.mark.parametrize(
        ("text", "shown", "in_table"),
        [("a|b", "`a|b`", r"`a\|b`"), ("", "", ""), ("`", "`` ` ``", "`` ` ``")],
    )
    def test_markdown_code_shows_hostile_text_verbatim(
        self, text: str, shown: str, in_table: str
    ) -> None:
        assert (render_code(text), render_code_cell(text)) == (shown, in_table)

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("\N{FULLWIDTH EQUALS SIGN}1+1", "'\N{FULLWIDTH EQUALS SIGN}1+1"),
            ("a;=1+1", "a;'=1+1"),
            (" =1", " '=1"),
            ("a; b=1", "a; b=1"),
        ],
    )
    def test_csv_cell_has_no_formula_after_any_separator(self, text: str, shown: str) -> None:
        assert escape_cell(text) == shown

    def test_csv_has_no_formula_from_hostile_text(self) -> None:
        rows = list(csv.reader(io.StringIO(render_csv(a_hostile_report()))))
        assert {len(row) for row in rows} == {len(COLUMNS)}
        assert not [cell for row in rows for cell in row if cell[:1] in set("=+-@\t\r")]

    def test_json_keeps_hostile_text_unchanged(self) -> None:
        [write] = json.loads(render_json(a_hostile_report()))["writes"]
        assert write["actor"] == HOSTILE
        assert write["changes"][0]["new"] == HOSTILE


def test_use_of_break_glass_is_named() -> None:
    told = render_markdown(the_report(), TITLE)
    assert "responder: used break-glass on Deployment shop/web (breakglass). INC-42" in told
    issued = granted(1, "/spec/replicas", new=8, grant_act="issued", inferred_verb="scale")
    told = render_markdown(compose_report(Scope(), [issued], around(), at(60)), TITLE)
    assert "responder: used break-glass on Deployment shop/web, with scale (breakglass)" in told


def test_tables_have_manager_and_grant_of_each_write() -> None:
    for text in (render_markdown(the_report(), TITLE), render_page(the_report(), TITLE)):
        assert "INC-42, grant g1" in text
    refused = render_markdown(the_report(), TITLE).partition("## Denied")[2]
    assert (
        "| developer | kubectl-edit |  | Deployment shop/web | `/spec/replicas` | `5` | `9` |"
        in (refused)
    )


def test_unexplained_drift_is_rendered_with_its_values() -> None:
    assert '`/data/mode`, `"primary"` → `"standby"`: no record' in (
        render_markdown(the_report(), TITLE)
    )
    page = render_page(the_report(), TITLE)
    assert '<code class="before">&#34;primary&#34;</code>' in page
    row = list(csv.DictReader(io.StringIO(render_csv(the_report()))))[-1]
    assert (row["verdict"], row["field"]) == ("unexplained", "/data/mode")
    assert (row["before"], row["after"]) == ('"primary"', '"standby"')


def test_objects_of_several_clusters_have_their_cluster() -> None:
    attempts = [granted(1, IMAGE, new="web:2"), granted(2, IMAGE, new="web:2", cluster="other")]
    report = compose_report(Scope(ticket="INC-42"), attempts, around(), at(60))
    for text in (render_markdown(report, TITLE), render_page(report, TITLE)):
        assert "Deployment shop/web in cluster test" in text
        assert "Deployment shop/web in cluster other" in text


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        pytest.param([], [], id="none"),
        pytest.param([300.0], [300.0], id="one"),
        pytest.param([300.0, 300.0, 500.0], [300.0, 322.0, 500.0], id="two at once"),
        pytest.param([878.0, 878.0], [856.0, 878.0], id="at the end"),
    ],
)
def test_overlapping_marks_are_moved_apart_minimally(
    places: list[float], moved: list[float]
) -> None:
    assert spread_apart(places) == moved
