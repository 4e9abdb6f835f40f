"""What the benchmarks share: rows, table, drawing, and reviews of the promised size."""

import xml.etree.ElementTree as ET
from collections.abc import Callable

import msgspec
import pytest

from bench.__main__ import exit_code, main
from bench.lab import reviews
from bench.lab.catalogue import benchmarks
from bench.lab.figure import Figure, Goal, Holds, Unexpected
from bench.lab.load import Load, Sample, parse_sample
from bench.lab.objects import size_of
from bench.lab.rounds import Rounds, p50
from bench.lab.shapes import ENTRIES, SHAPES, Shape
from bench.lab.svg import Chart, Series, ticks_to
from bench.lab.table import render
from bench.ledger_postgres import RECORDS, of_so_many


def a_figure(holds: Holds) -> Figure:
    return Figure("work", "≤ 1 ms", "0.5 ms", holds)


def a_sample(p50_ms: float = 1.0, **differing: object) -> Sample:
    usual = {
        "requests": 10,
        "seconds": 1.0,
        "rate": 10.0,
        "p50_ms": p50_ms,
        "p95_ms": p50_ms,
        "p99_ms": p50_ms,
        "max_ms": p50_ms,
        "statuses": {"200": 10},
        "allowed": 10,
        "denied": 0,
        "errors": 0,
        "first_error": "",
    }
    return msgspec.convert(usual | differing, type=Sample)


@pytest.mark.parametrize(
    ("goal", "value", "holds"),
    [
        (Goal("w", "≤", 2, "ms"), 2, True),
        (Goal("w", "≤", 2, "ms"), 2.1, False),
        (Goal("w", "≥", 0.9), 0.9, True),
        (Goal("w", "≥", 0.9), 0.89, False),
    ],
)
def test_goal_is_met_within_its_bound(goal: Goal, value: float, *, holds: bool) -> None:
    assert goal.judged(value, "told") == Figure("w", str(goal), "told", holds)


def test_goal_is_rendered_with_bound_and_unit() -> None:
    assert str(Goal("w", "≤", 60, "MB")) == "≤ 60 MB"
    assert str(Goal("w", "≤", 0)) == "≤ 0"


@pytest.mark.parametrize(
    ("holds", "code"),
    [
        ([True, True], 0),
        ([True, "skipped: no Go"], 0),
        ([True, False], 1),
        ([False, "error: it broke"], 2),
    ],
)
def test_exit_code_distinguishes_a_missed_goal_from_an_error(holds: list[Holds], code: int) -> None:
    assert exit_code([a_figure(each) for each in holds]) == code


def test_unknown_benchmark_is_reported_with_the_known_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--only", "nonsense"]) == 2
    assert "verdict" in capsys.readouterr().err


def test_every_bench_module_is_found_as_a_benchmark() -> None:
    found = {each.name: each for each in benchmarks()}
    assert {"verdict", "diff", "large", "starts", "apiserver"} <= set(found)
    assert all(each.module.GOALS and each.summary for each in found.values())


@pytest.mark.parametrize("width", [60, 80, 160])
def test_table_fits_its_width_and_drops_no_word(width: int) -> None:
    row = Figure("a long work " * 6, "≤ 1 ms", "a long figure " * 6, "skipped: no reason")
    table = render([row], width)
    assert max(map(len, table.splitlines())) <= width
    assert table.split().count("long") == 12


def test_ratio_is_the_median_of_the_rounds() -> None:
    ours = [a_sample(1), a_sample(4), a_sample(30)]
    rounds = Rounds({"ours": ours, "go": [a_sample(1), a_sample(2), a_sample(10)]})
    assert rounds.ratio("ours", "go", p50) == 2
    assert rounds.median("ours", p50) == 4


@pytest.mark.parametrize(
    "wrong", [{"errors": 1}, {"allowed": 9}, {"requests": 0, "allowed": 0}], ids=str
)
def test_sample_with_wrong_answers_is_rejected(wrong: dict[str, int]) -> None:
    with pytest.raises(Unexpected):
        parse_sample(msgspec.json.encode(a_sample(**wrong)), Load(b""))


@pytest.mark.parametrize(
    "made", [reviews.unmanaged_update, reviews.reconciler_update, reviews.guarded_update]
)
def test_generated_reviews_have_the_documented_size_and_are_deterministic(
    made: Callable[[], bytes],
) -> None:
    assert len(made()) == pytest.approx(reviews.REVIEW_SIZE, rel=0.04)
    assert made() == made()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_worst_case_objects_are_close_to_the_size_limit_of_etcd(shape: Shape) -> None:
    for obj in shape.pair(ENTRIES):
        assert 1_400_000 < size_of(obj) < 1.5 * 1024 * 1024


@pytest.mark.parametrize(
    ("highest", "ticks"), [(0.9, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (10, [0, 2, 4, 6, 8, 10])]
)
def test_chart_ticks_are_round_and_reach_the_highest_value(
    highest: float, ticks: list[float]
) -> None:
    assert ticks_to(highest) == pytest.approx(ticks)


def test_a_chart_is_an_svg_with_every_point() -> None:
    series = [Series("a < b", [(1, 0.5), (2, 0.7)]), Series("c", [(1, 1), (2, 2)])]
    drawn = ET.fromstring(Chart("t", "connections", "ms", series).render())  # noqa: S314  (ours)
    assert len(drawn.findall("{http://www.w3.org/2000/svg}circle")) == 4


@pytest.mark.parametrize(
    ("records", "value", "holds"),
    [
        pytest.param(RECORDS, 1.0, True, id="all of them"),
        pytest.param(RECORDS, 3.0, False, id="all of them, too slow"),
        pytest.param(4_000_000, 3.0, False, id="too slow even on fewer"),
        pytest.param(
            4_000_000,
            1.0,
            "not known: only 4,000,000 of 10,000,000 records were made in 360 s",
            id="on fewer",
        ),
    ],
)
def test_goal_for_ten_million_records_is_not_judged_on_fewer(
    records: int, value: float, *, holds: Holds
) -> None:
    goal = Goal("a report", "≤", 2, "s")
    assert of_so_many(goal, records, value, "told") == Figure("a report", "≤ 2 s", "told", holds)
