"""Questions to a large ledger, each asked often and each time about something else."""

import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from bench.lab.lab import Lab
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.query import Question

ASKED: Final = 60
"""How often each question is asked."""

Ask: TypeAlias = Callable[[Ledger, random.Random], object]


@dataclass(frozen=True, slots=True)
class Archive:
    """What there is to ask about; small numbers recur most often among the records."""

    objects: int
    namespaces: int
    people: int
    apps: int
    incidents: int
    clusters: tuple[str, ...]
    paths: tuple[str, ...]
    end: datetime

    def an_object(self, chance: random.Random) -> dict[str, Any]:
        """Return which object."""
        number = _some(chance, self.objects)
        return {"namespace": f"team-{number % self.namespaces}", "name": f"service-{number}"}

    def an_actor(self, chance: random.Random) -> dict[str, Any]:
        """Return whose writes."""
        return {"actor": f"person-{_some(chance, self.people)}@example.com"}

    def a_day(self, chance: random.Random) -> dict[str, Any]:
        """Return from when to when."""
        since = self.end - timedelta(days=chance.uniform(1, 300))
        return {"since": since, "until": since + timedelta(days=1)}

    def a_field(self, chance: random.Random) -> dict[str, Any]:
        """Return which field."""
        return {"field": chance.choice(self.paths)}

    def open_grants(self, ledger: Ledger, chance: random.Random) -> object:
        """Ask for the grants that were open at some moment."""
        moment = self.end - timedelta(days=chance.uniform(0, 9))
        return ledger.open_grants(chance.choice(self.clusters), moment)


@dataclass(frozen=True, slots=True)
class Answered:
    """How long answers took, in ms: all but the slowest twentieth of each kind of question."""

    p95: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The slowest kind's."""
        return max(self.p95.values())

    def told(self, over: str = "") -> str:
        """Return the figures for the table."""
        name = max(self.p95, key=lambda each: self.p95[each])
        each = ", ".join(f"{kind} {value:.1f}" for kind, value in self.p95.items())
        return f"{self.worst:.1f} ms ({name}){over}; by question: {each}"


def answered(lab: Lab, ledger: Ledger, questions: Mapping[str, Ask]) -> Answered:
    """Ask *ledger* all of *questions*."""
    return Answered({name: _p95(lab, name, ledger, ask) for name, ask in questions.items()})


def _p95(lab: Lab, name: str, ledger: Ledger, ask: Ask) -> float:
    chance = random.Random(name)  # noqa: S311 - the same questions in every run
    taken = []
    for _ in range(ASKED):
        start = time.perf_counter()
        ask(ledger, chance)
        taken.append(1000 * (time.perf_counter() - start))
    p95 = statistics.quantiles(taken, n=20)[-1]
    lab.say(f"{name}: p50 {statistics.median(taken):.1f} ms, p95 {p95:.1f} ms")
    return p95


def questions_about(archive: Archive) -> dict[str, Ask]:
    """Return questions by name; what is asked about recurs as it does among the records."""
    below = _always(field="/spec/template")
    denied = _always(verdict="deny")
    return {
        "newest": _asking(),
        "object": _asking(archive.an_object),
        "object and field": _asking(archive.an_object, archive.a_field),
        "object, below a field": _asking(archive.an_object, below),
        "namespace": _asking(_numbered("namespace", "team", archive.namespaces)),
        "actor": _asking(archive.an_actor),
        "ticket": _asking(_numbered("ticket", "INC", archive.incidents)),
        "application": _asking(_numbered("app", "app", archive.apps)),
        "grant": _asking(_numbered("grant", "grant", archive.incidents)),
        "denied": _asking(denied),
        "denied of an actor": _asking(denied, archive.an_actor),
        "day": _asking(archive.a_day),
        "actor on a day": _asking(archive.an_actor, archive.a_day),
        "open grants": archive.open_grants,
    }


Part: TypeAlias = Callable[[random.Random], dict[str, Any]]
"""A part of a question, chosen anew each time."""


def _asking(*parts: Part) -> Ask:
    def ask(ledger: Ledger, chance: random.Random) -> object:
        chosen = {name: value for part in parts for name, value in part(chance).items()}
        return ledger.ask(Question(**chosen))

    return ask


def _always(**part: Any) -> Part:  # noqa: ANN401 - any part of a question
    return lambda _: part


def _numbered(name: str, prefix: str, count: int) -> Part:
    return lambda chance: {name: f"{prefix}-{chance.randrange(count)}"}


def _some(chance: random.Random, count: int) -> int:
    return int(count * chance.random() ** 2)
