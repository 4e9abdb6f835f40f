"""What the load generator is asked, and what it answers."""

from dataclasses import dataclass, field

import msgspec

from bench.lab.figure import Unexpected


@dataclass(frozen=True, slots=True)
class Load:
    """So many requests over so many connections."""

    review: bytes = field(repr=False)
    connections: int = 1
    requests: int = 2000
    warmup: int = 200
    silent: int = 0
    """TLS connections held open beside, which never ask anything."""
    mute: int = 0
    """TCP connections held open beside, which do not even shake hands."""
    seconds: int = 30
    """The longest that it may take; fewer requests are counted then."""
    allowed: bool = True
    """What every answer must be."""

    @property
    def flags(self) -> list[str]:
        """The load generator's command line, but for where and what."""
        return [
            *("-connections", str(self.connections)),
            *("-requests", str(self.requests)),
            *("-warmup", str(self.warmup)),
            *("-silent", str(self.silent)),
            *("-mute", str(self.mute)),
            *("-limit", f"{self.seconds}s"),
        ]


class Sample(msgspec.Struct, frozen=True):
    """What one run of the load generator saw."""

    requests: int
    seconds: float
    rate: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    statuses: dict[str, int]
    allowed: int
    denied: int
    errors: int
    first_error: str


def parse_sample(output: bytes, load: Load) -> Sample:
    """Return the sample that the generator printed; raise where an answer was a wrong one."""
    sample = msgspec.json.decode(output, type=Sample)
    right = sample.allowed if load.allowed else sample.denied
    if sample.errors or right != sample.requests or not sample.requests:
        raise Unexpected(
            f"{sample.requests} answers, {sample.allowed} allowed, {sample.denied} denied, "
            f"{sample.errors} errors, by status {sample.statuses} {sample.first_error}".rstrip()
        )
    return sample
