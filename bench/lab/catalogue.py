"""Which benchmarks there are: the modules beside this package."""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Protocol, cast

import bench
from bench.lab.figure import Figure, Goal
from bench.lab.lab import Lab


class Module(Protocol):
    """What a benchmark's module must have."""

    GOALS: tuple[Goal, ...]

    def run(self, lab: Lab) -> list[Figure]:
        """Measure and judge."""
        ...


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark under the name that `--only` takes."""

    name: str
    module: Module

    @property
    def summary(self) -> str:
        """The first line of the module's docstring."""
        return (getattr(self.module, "__doc__", None) or "").partition("\n")[0]


def benchmarks() -> list[Benchmark]:
    """Return every benchmark, by name."""
    names = [
        each.name
        for each in pkgutil.iter_modules(bench.__path__)
        if not each.ispkg and not each.name.startswith("_")
    ]
    return [Benchmark(name, _module(name)) for name in sorted(names)]


def _module(name: str) -> Module:
    return cast("Module", importlib.import_module(f"bench.{name}"))
