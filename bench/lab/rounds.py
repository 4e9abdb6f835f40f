"""Rounds by turns: what is compared is measured in the same minute, and the middle one counts."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bench.lab.figure import times
from bench.lab.lab import Lab
from bench.lab.load import Load, Sample
from bench.lab.servers import Server

ROUNDS: Final = 5

Key = Callable[[Sample], float]


@dataclass(frozen=True, slots=True)
class Rounds:
    """Each server's samples, in the order of the rounds."""

    samples: dict[str, list[Sample]]

    def median(self, server: str, key: Key) -> float:
        """Return the middle one of a server's figures."""
        return statistics.median(map(key, self.samples[server]))

    def ratio(self, server: str, other: str, key: Key) -> float:
        """Return the middle one of the rounds' ratios: what slows a round slows both sides."""
        pairs = zip(self.samples[server], self.samples[other], strict=True)
        return statistics.median(key(ours) / key(theirs) for ours, theirs in pairs)


def by_turns(lab: Lab, servers: list[Server], load: Load, rounds: int = ROUNDS) -> Rounds:
    """Put *load* on each of *servers* in turn, round after round."""
    samples: dict[str, list[Sample]] = {server.name: [] for server in servers}
    for number in range(rounds):
        for server in servers:
            sample = lab.measure(server, load)
            samples[server.name].append(sample)
            lab.say(
                f"round {number + 1}/{rounds}, {load.connections} conn., {server.name}: "
                f"p50 {sample.p50_ms:.2f} ms, {sample.rate:.0f}/s"
            )
    return Rounds(samples)


def p50(sample: Sample) -> float:
    """Return the middle latency in milliseconds."""
    return sample.p50_ms


def rate(sample: Sample) -> float:
    """Return the requests a second."""
    return sample.rate


def latency_told(rounds: Rounds) -> str:
    """Return a contest's middle latencies for the table."""
    ours, go, maps = (rounds.median(name, p50) for name in ("glasswarden", "go", "go-maps"))
    versus = rounds.ratio("glasswarden", "go-maps", p50)
    return (
        f"{times(rounds.ratio('glasswarden', 'go', p50))} ({ours:.2f} ms, Go {go:.2f} ms; "
        f"Go with both objects decoded {maps:.2f} ms: {times(versus)})"
    )
