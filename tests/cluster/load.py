"""Writers that keep writing to the API server, and what happened to their calls."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from glasswarden.cluster.client import ApiServer, ApiServerError


@dataclass
class Tally:
    """What happened to calls."""

    calls: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """What each call took, for tables: nothing is asserted about it."""


@contextmanager
def repeating(*acts: Callable[[], None]) -> Iterator[list[Tally]]:
    """Do each of *acts* again and again, in threads, and count."""
    ended = threading.Event()
    tallies = [Tally() for _ in acts]

    def repeat(act: Callable[[], None], tally: Tally) -> None:
        while not ended.is_set():
            count(act, tally)

    pairs = zip(acts, tallies, strict=True)
    threads = [threading.Thread(target=repeat, args=pair, daemon=True) for pair in pairs]
    for thread in threads:
        thread.start()
    try:
        yield tallies
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def count(act: Callable[[], None], tally: Tally) -> None:
    """Do *act* once, and take down what became of it."""
    tally.calls += 1
    began = time.monotonic()
    try:
        act()
    except (OSError, ApiServerError) as error:
        tally.failures.append(str(error))
    tally.seconds.append(time.monotonic() - began)


def writing(objects: ApiServer, namespace: str, name: str, key: str = "tick") -> Callable[[], None]:
    """Return an act that changes the annotation *key* of a Deployment."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    place = f"/metadata/annotations/{key.replace('/', '~1')}"
    counter = iter(range(1_000_000))

    def write() -> None:
        value = str(next(counter))
        objects.patch(path, [{"op": "add", "path": place, "value": value}])

    return write
