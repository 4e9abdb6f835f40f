"""Links findings to a million records; a process of its own, so that its memory is its own.

Prints, as JSON, the seconds, the peak memory in MB, and how the links ended.
"""

import json
import random
import resource
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from bench.lab import million
from correlator.finding import Finding
from correlator.linker import linker_of
from glasswarden.kube.managed_fields import Entry
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import parse_path
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.sqlite.file import open_sqlite
from glasswarden.ledger.writes import find_attempts
from glasswarden.policy.policy import DEFAULT


def findings_in(ledger: Ledger, count: int) -> list[Finding]:
    """Return *count* findings: of two thirds the newest record's value is live, of one it is not.

    They are as a scan gives them, with managedFields of the second of the write.
    """
    chance = random.Random("findings")  # noqa: S311 - the same ones in every run
    found: dict[tuple[str, str], Finding] = {}
    while len(found) < count:
        number = million.some(chance, million.OBJECTS)
        place, name = million.namespace_of(number), f"service-{number}"
        path = chance.choice(million.PATHS[:3])
        question = Question(namespace=place, name=name, field=path, verdict="allow", limit=1)
        record = next(find_attempts(ledger, question), None)
        if record is not None:
            stands = chance.random() < 2 / 3
            found[record.name, path] = _finding(record, path, stands=stands)
    return list(found.values())


def _finding(record: Attempt, path: str, *, stands: bool) -> Finding:
    ref = Ref(
        record.group, record.version, record.kind, record.namespace, record.name, record.object_uid
    )
    live = record.changes[0].new if stands else "something else"
    holder = Entry("Update", record.manager, time=f"{record.time:%Y-%m-%dT%H:%M:%SZ}")
    return Finding(
        ref, parse_path(path), 1, live, None, "git", holders=(holder,), entries=(holder,)
    )


def main(path: str, count: str) -> None:
    """Measure."""
    with closing(open_sqlite(Path(path))) as ledger:
        findings = findings_in(ledger, int(count))
    start = time.perf_counter()
    with closing(open_sqlite(Path(path))) as ledger:
        linked = linker_of(ledger, million.CLUSTER, DEFAULT)(findings)
    seconds = time.perf_counter() - start
    ends = Counter(each.link.state for each in linked if each.link)
    objects = len({each.ref for each in findings})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"seconds": seconds, "mb": peak, "objects": objects, "ends": ends}))


if __name__ == "__main__":
    main(*sys.argv[1:])
