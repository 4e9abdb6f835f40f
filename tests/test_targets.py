"""Every test runs in exactly one of `make check`, `make test` and `make e2e`."""

import subprocess
import tomllib
from collections.abc import Collection
from itertools import chain, combinations
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

ROOT = Path(__file__).parent.parent
SELECTIONS = ("RUN_CHECK", "RUN_TEST", "RUN_E2E")


def value_of(variable: str) -> str:
    """Return what the Makefile's *variable* expands to."""
    rule = f"value: ; @printf %s '$({variable})'"
    asked = subprocess.run(
        ["make", "--silent", f"--eval={rule}", "value"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return asked.stdout


def markers() -> list[str]:
    """Return the names of the markers that pyproject.toml declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared: list[str] = project["tool"]["pytest"]["ini_options"]["markers"]
    return [each.partition(":")[0] for each in declared]


def is_selected(selection: str, marks: Collection[str]) -> bool:
    """Return whether `pytest -m` with *selection* runs a test with these *marks*."""

    def has(name: str, /, **_: object) -> bool:
        return name in marks

    return Expression.compile(selection).evaluate(has)


def test_every_combination_of_markers_is_selected_by_exactly_one_target() -> None:
    selections = {each: value_of(each) for each in SELECTIONS}
    names = markers()
    for marks in chain.from_iterable(combinations(names, n) for n in range(len(names) + 1)):
        chosen = [each for each, text in selections.items() if is_selected(text, marks)]
        assert len(chosen) == 1, f"a test marked {marks} belongs to {chosen}"


def test_every_marker_that_is_declared_decides_about_the_target() -> None:
    named = {*value_of("CORE").split(" or "), *value_of("E2E").split(" or ")}
    assert named == {*markers()}


@pytest.mark.parametrize(
    ("target", "selection"), [("check", "RUN_CHECK"), ("test", "RUN_TEST"), ("e2e", "RUN_E2E")]
)
def test_a_target_runs_its_selection(target: str, selection: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.partition(f"\n{target}: ")[2].partition("\n\n")[0]
    assert f'-m "$({selection})"' in recipe


def test_continuous_integration_runs_all_of_them() -> None:
    assert (ROOT / ".ci" / "run").read_text().endswith("exec make test e2e\n")
