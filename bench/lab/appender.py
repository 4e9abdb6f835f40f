"""`python -m bench.lab.appender FILE SECONDS WRITER`: appends records singly, times each."""

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from bench.lab.attempts import usual_attempt
from glasswarden.ledger.chain import Chain
from glasswarden.ledger.record import new_id
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.ledger.builders import SIGNER


def main(path: Path, seconds: float, writer: str) -> None:
    """Append until the time is over, as fast as can be."""
    usual, chain, ledger = usual_attempt(), Chain(writer, SIGNER), open_sqlite(path)
    taken, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        now = datetime.now(UTC)
        records = chain.link([replace(usual, id=new_id(now, os.urandom(10)), time=now)])
        start = time.perf_counter()
        ledger.append(records)
        taken.append(1000 * (time.perf_counter() - start))
        chain.advance(records)
    ledger.close()
    print(*taken, sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
