"""`output`: what people see."""

from dataclasses import replace
from unicodedata import east_asian_width

import pytest

from correlator.classify.rule import Scene
from correlator.classify.rules import classify
from correlator.finding import Finding, Incomplete, Result
from correlator.output.markdown import render_markdown
from correlator.output.table import render_table
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import ROOT, parse_path
from glasswarden.policy.policy import DEFAULT
from glasswarden.terminal import escape_unprintable
from tests.correlator.classify.test_rules import NOW, a_finding

EVIL = "\x1b[2Jweb|\u202e`<b>`\n"


def a_result(*findings: Finding, incomplete: tuple[Incomplete, ...] = ()) -> Result:
    scene = Scene(DEFAULT, NOW)
    return Result(tuple(classify(each, scene) for each in findings), incomplete)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_table_fits_the_terminal(width: int) -> None:
    long = a_finding("/metadata/annotations/" + "x" * 300, "y" * 500, "z" * 500)
    lines = render_table(a_result(long, a_finding()), width).splitlines()
    assert max(map(len, lines)) <= width


def test_table_has_object_field_and_time() -> None:
    text = render_table(a_result(a_finding("/spec/replicas", 3, 5)), 160)
    assert "Deployment prod/web" in text
    assert "/spec/replicas" in text
    assert "2026-03-01T11:00:00Z" in text
    assert "1 finding in 1 object" in text


def test_result_without_findings_is_rendered_as_no_drift() -> None:
    assert render_table(Result(), 80) == "No drift"
    assert "No drift." in render_markdown(Result())


def test_incomplete_result_is_not_rendered_as_no_drift() -> None:
    result = Result((), (Incomplete("Secret (v1)", "no right to list it"),))
    for text in (render_table(result, 80), render_markdown(result)):
        assert "No drift in what could be inspected" in text
        assert "Secret" in text
        assert "no right to list it" in text


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_control_characters_are_escaped(form: str) -> None:
    ref = Ref("", "v1", "ConfigMap", "prod", EVIL)
    result = a_result(
        a_finding("/data/x", EVIL, EVIL, ref=ref, by=EVIL),
        incomplete=(Incomplete(EVIL, EVIL),),
    )
    text = render_table(result, 300) if form == "table" else render_markdown(result)
    assert all(char.isprintable() or char == "\n" for char in text)


def test_pipes_in_values_are_escaped_in_markdown() -> None:
    ref = Ref("", "v1", "ConfigMap", "prod", "a|b")
    text = render_markdown(a_result(a_finding("/data/x", "a|`b`", "c|d", ref=ref)))
    row = next(line for line in text.splitlines() if "/data/x" in line and line.startswith("|"))
    assert row.replace(r"\|", "").count("|") == 9


def test_whole_object_is_rendered_as_a_placeholder() -> None:
    missing = Finding(
        Ref("", "v1", "ConfigMap", "prod", "a"), ROOT, {"data": {}}, ABSENT, None, "git"
    )
    assert "(object)" in render_table(a_result(missing), 200)
    assert "{" not in render_table(a_result(missing), 200)


def test_markdown_has_the_verify_command_and_the_suggestion() -> None:
    finding = a_finding("/spec/replicas", 3, 5, by="kube-controller-manager")
    text = render_markdown(a_result(finding))
    assert "kubectl describe deployment.apps/web -n prod" in text
    assert "# remove /spec/replicas" in text


@pytest.mark.parametrize(
    ("text", "safe"),
    [("plain ünïcode", "plain ünïcode"), ("\x1b[0m", "\\x1b[0m"), ("a\nb", "a\\nb")],
)
def test_invisible_characters_are_escaped(text: str, safe: str) -> None:
    assert escape_unprintable(text) == safe


def test_path_with_control_characters_is_printable() -> None:
    assert str(parse_path("/metadata/annotations/~{1b}")).isprintable()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_wide_characters_take_two_columns(width: int) -> None:
    [finding] = a_result(a_finding(declared="漢字" * 60, live="字b" * 30)).findings
    assert finding.verdict is not None
    wordy = replace(finding, verdict=replace(finding.verdict, reason="説明" * 80))
    for line in render_table(Result((finding, wordy)), width).splitlines():
        assert sum(2 if east_asian_width(char) in "WF" else 1 for char in line) <= width


def test_remarks_are_rendered_beside_the_result() -> None:
    result = Result(remarks=("ConfigMap prod/a is declared twice",))
    assert "No drift\n" in render_table(result, 80)
    assert "declared twice" in render_table(result, 80)
    assert "declared twice" in render_markdown(result)
