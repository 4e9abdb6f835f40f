"""`python -m bench`: measure, print one table, leave build/bench.json and the plots."""

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

from bench.lab import table
from bench.lab.catalogue import Benchmark, benchmarks
from bench.lab.figure import CannotRun, Figure
from bench.lab.lab import Lab

BUILD: Final = Path(__file__).resolve().parent.parent / "build"
ERROR: Final = "error: "


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if every goal that was measured holds, 1 if one does not, 2 after an error."""
    chosen = _parser().parse_args(arguments)
    every = benchmarks()
    if chosen.list:
        for each in every:
            print(f"{each.name:<13}{each.summary}")
        return 0
    wanted = [each for each in every if chosen.only in (None, each.name)]
    if not wanted:
        names = ", ".join(each.name for each in every)
        print(f"There is no benchmark {chosen.only!r}; there are {names}.", file=sys.stderr)
        return 2
    figures = _measure(wanted)
    print(f"\n{table.render(figures)}\n\nWritten to {_write(figures)}")
    return exit_code(figures)


def exit_code(figures: Sequence[Figure]) -> int:
    """Return what the shell is told."""
    if any(isinstance(each.holds, str) and each.holds.startswith(ERROR) for each in figures):
        return 2
    return 1 if any(each.holds is False for each in figures) else 0


def _measure(wanted: Sequence[Benchmark]) -> list[Figure]:
    BUILD.mkdir(exist_ok=True)
    start = time.monotonic()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="glasswarden-bench-") as folder:
        for each in wanted:
            lab = Lab(Path(folder), BUILD, partial(_say, each.name, start))
            try:
                figures += _figures_of(each, lab)
            finally:
                lab.processes.stop()
    return figures


def _figures_of(benchmark: Benchmark, lab: Lab) -> list[Figure]:
    """Return the benchmark's rows; one that fails does not keep the others from running."""
    lab.say(benchmark.summary)
    try:
        return benchmark.module.run(lab)
    except CannotRun as reason:
        return [goal.unknown(f"skipped: {reason}") for goal in benchmark.module.GOALS]
    except Exception as error:  # noqa: BLE001  (the outermost edge)
        traceback.print_exc()
        return [goal.unknown(f"{ERROR}{error}") for goal in benchmark.module.GOALS]


def _write(figures: Sequence[Figure]) -> Path:
    file = BUILD / "bench.json"
    rows = [asdict(each) for each in figures]
    file.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    return file


def _say(name: str, start: float, text: str) -> None:
    print(f"{time.monotonic() - start:6.0f} s  {name:<13}{text}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="run this one alone")
    parser.add_argument("--list", action="store_true", help="say which there are")
    return parser


if __name__ == "__main__":
    sys.exit(main())
