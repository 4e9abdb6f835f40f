"""The Go programs of the benchmarks, built once for each state of their source."""

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.lab.figure import CannotRun
from tests.cache import PackageOutOfReach, cache_folder, digest, locked
from tests.cluster.catalogue import BUILD_FLAGS, parse_go_line
from tests.cluster.toolchain import environment, find_go

SOURCE: Final = Path(__file__).resolve().parent.parent / "go"
PROGRAMS: Final = ("knock", "load", "noop", "patch")


def built(say: Callable[[str], None]) -> Path:
    """Return the folder with the programs, built if need be, which *say* is told."""
    folder = cache_folder() / "bench" / digest(*(file.read_bytes() for file in _files()))
    with locked(folder):
        if not all((folder / name).is_file() for name in PROGRAMS):
            say("building the Go programs")
            _build(folder)
    return folder


def _files() -> list[Path]:
    return sorted(file for file in SOURCE.rglob("*") if file.suffix in (".go", ".mod"))


def _build(folder: Path) -> None:
    try:
        go = find_go(parse_go_line((SOURCE / "go.mod").read_text()))
    except PackageOutOfReach as error:
        raise CannotRun(f"no Go to build the baseline with: {error}") from error
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        command = [str(go), "build", *BUILD_FLAGS, "-o", f"{unfinished}/", "./..."]
        done = subprocess.run(
            command, cwd=SOURCE, env=environment(), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise CannotRun(f"the Go baseline could not be built: {done.stderr.strip()[-500:]}")
        for name in PROGRAMS:
            (Path(unfinished) / name).rename(folder / name)
