"""`python -m bench.lab.parts POLICY KEYS FOLDER WRITES`: times a guarded write and its parts."""

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import uvloop

from bench.lab.reviews import guarded_update
from glasswarden.ledger.chain import Chain
from glasswarden.ledger.keys import Keys, open_keys
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import Record
from glasswarden.ledger.sqlite.file import open_sqlite
from glasswarden.logs import configure_logs
from glasswarden.policy.case import Case
from glasswarden.policy.decide import decide
from glasswarden.policy.decision import Decision
from glasswarden.policy.messages import render_denial
from glasswarden.policy.policy import Policy
from webhook.admission import Admission
from webhook.recording.entry import entry_of
from webhook.recording.recorder import Recorder
from webhook.recording.store import links_to
from webhook.reloading import Rules
from webhook.review import parse_review
from webhook.server.app import COLLECTOR_THRESHOLDS
from webhook.write_builder import write_of

WHOLE: Final = "the whole"
STORING: Final = "storing"
PLAIN: Final = "json.loads"
"""What is taken beside it: reading the same bytes as Python does by itself."""

T = TypeVar("T")


class Stopwatch:
    """Keeps what each part took, in milliseconds."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = {}

    def note(self, part: str, start: float) -> None:
        self.taken.setdefault(part, []).append(1000 * (time.perf_counter() - start))

    def part(self, name: str, act: Callable[[], T]) -> T:
        start = time.perf_counter()
        made = act()
        self.note(name, start)
        return made


@dataclass(frozen=True, slots=True)
class Desk:
    """What a write is worked on with, part by part."""

    policy: Policy
    keys: Keys
    chain: Chain
    ledger: Ledger
    watch: Stopwatch

    def work_on(self, review: bytes) -> None:
        """Do what an admission does with *review*, one part after another."""
        part, policy, now = self.watch.part, self.policy, datetime.now(UTC)
        request = part("reading", lambda: parse_review(review))
        write = part("comparing", lambda: write_of(request, policy))
        case = Case(write, policy, now)

        def decided() -> Decision:
            decision = decide(case)
            render_denial(decision, case)
            return decision

        decision = part("deciding", decided)

        def sealed() -> list[Record]:
            masks, random = self.keys.masks, os.urandom(10)
            return self.chain.link([entry_of(request, case, decision, masks, random)])

        records = part("sealing", sealed)
        part(STORING, lambda: self.ledger.append(records))
        self.chain.advance(records)


async def main(policy_file: Path, key_folder: Path, folder: Path, writes: int) -> None:
    """Answer the same review again and again, whole and then in its parts."""
    rules, keys = Rules(policy_file), open_keys(key_folder)
    review, watch = guarded_update(), Stopwatch()
    link, delivery = links_to(f"sqlite://{folder / 'whole.db'}")
    recorder = Recorder(link, "whole", "default", keys, delivery=delivery)
    await recorder.open()
    admission = Admission(rules, recorder)
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    with closing(open_sqlite(folder / "parts.db")) as ledger:
        desk = Desk(rules.policy, keys, Chain("parts", keys.signer), ledger, watch)
        for _ in range(writes):
            start = time.perf_counter()
            await admission.validate(review)
            watch.note(WHOLE, start)
            desk.work_on(review)
            watch.part(PLAIN, lambda: json.loads(review))
    await recorder.close()
    print(json.dumps(watch.taken))


if __name__ == "__main__":
    configure_logs()
    uvloop.install()
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
