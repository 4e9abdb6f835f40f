"""Appends of several stores by turns, and what their rates say of each other."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from bench.lab.attempts import chained
from bench.lab.figure import times
from bench.lab.lab import Lab
from glasswarden.ledger.record import Record

BATCH: Final = 1000
ROUNDS: Final = 5
BATCHES: Final = 8
"""Commits of each side in a round."""

Store: TypeAlias = Callable[[list[Record]], None]


def records_to_append(lab: Lab) -> list[Record]:
    """Return the records of all rounds, as one chain."""
    lab.say("making records")
    return chained(ROUNDS * BATCHES * BATCH)


@dataclass(frozen=True, slots=True)
class Rates:
    """Each side's records a second, by rounds."""

    by_side: dict[str, list[float]]

    def ratio(self, side: str, other: str) -> float:
        """Return the middle one of the rounds' ratios: what slows a round slows both sides."""
        pairs = zip(self.by_side[side], self.by_side[other], strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)

    def told(self, raw: str) -> str:
        """Return how we did beside a table of the same columns that *raw* fills."""
        return (
            f"{times(self.ratio('ours', 'plain'))} a table with a primary key alone"
            f" ({self._rate('ours')}, {raw} {self._rate('plain')});"
            f" {times(self.ratio('ours', 'indexed'))} one with the same indexes"
            f" ({self._rate('indexed')}); {BATCH} records a commit"
        )

    def _rate(self, side: str) -> str:
        return f"{statistics.median(self.by_side[side]):,.0f}/s"


def by_turns(lab: Lab, sides: dict[str, Store], records: list[Record]) -> Rates:
    """Let each of *sides* store the same *records*, a share a round."""
    batches = [records[at : at + BATCH] for at in range(0, len(records), BATCH)]
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(ROUNDS):
        share = batches[number * BATCHES : (number + 1) * BATCHES]
        for name, store in sides.items():
            start = time.perf_counter()
            for batch in share:
                store(batch)
            rates[name].append(BATCHES * BATCH / (time.perf_counter() - start))
            lab.say(f"round {number + 1}/{ROUNDS}, {name}: {rates[name][-1]:,.0f} records/s")
    return Rates(rates)
