"""Follows one write and one inspection through the code: which modules they enter, in which order.

`python -m tests.walk` prints the measurements that docs/adr quotes: the number of modules, their
median length, the imports between them, and for each of the two ways the calls and the switches
from one module to another.
"""

import ast
import asyncio
import json
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final

from click.testing import CliRunner

from glasswarden.cli.main import main
from glasswarden.ledger.keys import make_keys, open_keys
from tests.webhook.builders import a_deployment, a_review
from webhook.admission import Admission
from webhook.recording.recorder import Recorder
from webhook.recording.store import links_to
from webhook.reloading import Rules

PACKAGES: Final = ("glasswarden", "webhook", "correlator", "certs")
ROOT: Final = Path(__file__).parent.parent
POLICY: Final = "apiVersion: glasswarden.io/v1\nkind: Policy\nmode: warn\n"


@dataclass(slots=True)
class Walk:
    """The calls into the project's own modules, in order."""

    modules: list[str] = field(default_factory=list)
    """One entry a call: the module of the function that was called."""

    @property
    def order(self) -> list[str]:
        """Each module once, by its first call."""
        return list(dict.fromkeys(self.modules))

    @property
    def switches(self) -> int:
        """How often a call goes to another module than the call before it."""
        return sum(one != other for one, other in zip(self.modules, self.modules[1:], strict=False))

    def enter(self, frame: FrameType, event: str, _: object) -> None:
        """Take a call into account: `sys.setprofile` calls this."""
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.partition(".")[0] in PACKAGES:
            self.modules.append(module)


@contextmanager
def walking() -> Iterator[Walk]:
    """Follow all threads while the block runs."""
    walk = Walk()
    threading.setprofile(walk.enter)
    sys.setprofile(walk.enter)
    try:
        yield walk
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def walk_one_write(folder: Path) -> Walk:
    """Return the way of a guarded UPDATE from its bytes to its answer, recorded in SQLite."""
    (folder / "policy.yaml").write_text(POLICY)
    return asyncio.run(_write(folder))


async def _write(folder: Path) -> Walk:
    link, delivery = links_to(f"sqlite://{folder / 'ledger.db'}")
    make_keys(folder / "keys", datetime.now(UTC))
    keys = open_keys(folder / "keys")
    recorder = Recorder(link, "walk", "default", keys, delivery=delivery)
    await recorder.open()
    admission = Admission(Rules(folder / "policy.yaml"), recorder)
    await admission.validate(a_review())  # what happens only the first time is no part of the way
    with walking() as walk:
        await admission.validate(a_review())
    await recorder.close()
    return walk


def walk_one_inspection(folder: Path) -> Walk:
    """Return the way of `drift` over one Deployment that the write in *folder* changed."""
    for name, replicas in (("git", 3), ("live", 5)):
        (folder / name).mkdir()
        (folder / name / "web.json").write_text(json.dumps(a_deployment(replicas=replicas)))
    command = ["drift", "--git", str(folder / "git"), "--live", str(folder / "live")]
    command += ["--ledger", f"sqlite://{folder / 'ledger.db'}", "--keys", str(folder / "keys")]
    _inspect(command)  # imports, and what is computed once a process
    with walking() as walk:
        _inspect(command)
    return walk


def _inspect(command: list[str]) -> None:
    result = CliRunner().invoke(main, command)
    if result.exit_code != 0 or "developer" not in result.stdout:
        raise AssertionError(result.output)


def measure_modules() -> tuple[int, float, int]:
    """Return how many modules there are, their median length, and the imports between them."""
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    names = {_name_of(file): file for file in files}
    lengths = [len(file.read_text().splitlines()) for file in files if file.stem != "__init__"]
    edges = {(name, target) for name, file in names.items() for target in _imports(file, names)}
    return len(lengths), statistics.median(lengths), sum(one != other for one, other in edges)


def _name_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _imports(file: Path, names: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in names:
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (each if each in names else node.module for each in inside)


def _print_measurements() -> None:
    modules, median, imports = measure_modules()
    print(f"{modules} modules, median {median:.0f} lines, {imports} imports between them")
    with tempfile.TemporaryDirectory(prefix="glasswarden-walk-") as folder:
        write = walk_one_write(Path(folder))
        inspection = walk_one_inspection(Path(folder))
    for name, walk in (("one UPDATE", write), ("one drift pass", inspection)):
        counts = f"{len(walk.modules)} calls, {walk.switches} switches between modules"
        print(f"{name}: {counts}, {len(walk.order)} modules")


if __name__ == "__main__":
    _print_measurements()
