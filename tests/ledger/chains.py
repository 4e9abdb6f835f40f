"""An independent look at chains: no code of the product but the reading of rows."""

import hashlib
import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from glasswarden.ledger.ledger import Ledger

GENESIS = "0" * 64


def bodies_of(ledger: Ledger) -> list[dict[str, Any]]:
    """Return all that *ledger* holds, chain by chain; fail where a chain does not hold together."""
    found = []
    for head in ledger.heads():
        rows = list(ledger.rows(head.writer))
        sound = sound_chain((row.body, row.digest) for row in rows)
        assert (head.sequence, head.digest) == (len(rows), rows[-1].digest)
        found += sound
    return found


def sound_chain(stored: Iterable[tuple[bytes, str]]) -> list[dict[str, Any]]:
    """Return the records of one chain, or fail at the first that does not follow."""
    prev, records = GENESIS, []
    for place, (body, digest) in enumerate(stored, start=1):
        record = json.loads(body)
        assert hashlib.sha256(body).hexdigest() == digest
        assert (record["sequence"], record["prev"]) == (place, prev)
        prev = digest
        records.append(record)
    return records


def of_type(records: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in records if record["type"] == kind]


def by_chain(records: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [list(chain) for _, chain in groupby(records, key=lambda record: record["writer"])]
