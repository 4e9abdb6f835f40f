"""What tests of faults measured, in one table at the end of the run, and in build/chaos.json.

A figure travels with its test's report, so that it also arrives from the processes of a parallel
run. A test that asks for `chaos` gets the mark of that name: `make chaos` runs those.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

FILE: Final = Path(__file__).parents[1] / "build" / "chaos.json"
_PROPERTY: Final = "chaos"

Figure = str | int | float


class Note(Protocol):
    """Takes down what happened under a fault."""

    def __call__(self, fault: str, **figures: Figure) -> None: ...


@pytest.fixture
def chaos(request: pytest.FixtureRequest) -> Note:
    """Return what takes figures down for the table."""

    def note(fault: str, **figures: Figure) -> None:
        rounded = {
            name: round(figure, 3) if isinstance(figure, float) else figure
            for name, figure in figures.items()
        }
        request.node.user_properties.append((_PROPERTY, {"fault": fault, "figures": rounded}))

    return note


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that measure a fault."""
    for item in items:
        if "chaos" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.chaos)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, if there is anything in it."""
    rows = sorted(_rows(terminalreporter), key=lambda row: row["fault"])
    if not rows:
        return
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    terminalreporter.write_sep("=", "faults and figures")
    for line in table_of(rows):
        terminalreporter.write_line(line)


def _rows(reporter: pytest.TerminalReporter) -> Iterator[dict[str, Any]]:
    for outcome in ("passed", "failed"):
        for report in reporter.stats.get(outcome, ()):
            if report.when == "call":
                for name, value in report.user_properties:
                    if name == _PROPERTY:
                        yield value | {"outcome": outcome}


def table_of(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table, ready for docs/chaos.md."""
    yield "| fault | held | figures |"
    yield "| --- | --- | --- |"
    for row in rows:
        held = "yes" if row["outcome"] == "passed" else "**no**"
        figures = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in row["figures"].items())
        yield f"| {row['fault']} | {held} | {figures} |"
