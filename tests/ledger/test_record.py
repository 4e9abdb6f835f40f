"""A record's bytes are canonical, and its digest vouches for all of them."""

import hashlib
import json
import uuid
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from glasswarden.ledger.chain import Chain
from glasswarden.ledger.record import GENESIS, Entry, canonical, decode, encode, linked, new_id
from tests.ledger.builders import an_entry

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_another_program_can_verify_a_record_from_the_documented_rule() -> None:
    record = linked(an_entry(), "writer-1", 1, GENESIS)
    fields = json.loads(encode(record))
    digest = fields.pop("digest")
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == digest


def test_a_record_comes_back_as_it_was_stored() -> None:
    record = linked(
        an_entry(actor="zoë", changes=({"path": "/a", "new": "\u2028"},)), "w", 1, GENESIS
    )
    assert decode(encode(record)) == record


@pytest.mark.parametrize("field", sorted(Entry.__struct_fields__))
def test_no_field_can_change_without_the_digest_changing(field: str) -> None:
    record = linked(an_entry(), "writer-1", 1, GENESIS)
    other = an_entry(**{field: _another(getattr(record, field))})
    assert linked(other, "writer-1", 1, GENESIS).digest != record.digest


def _another(value: object) -> object:
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, int):
        return value + 1
    if isinstance(value, datetime):
        return value + timedelta(microseconds=1)
    return ({"path": "/other"},) if value and isinstance(value[0], dict) else ("other",)  # type: ignore[index]


def test_each_record_names_the_one_before() -> None:
    chain = Chain("writer-1")
    first, second = chain.link([an_entry(), an_entry()])
    chain.advance([first, second])
    [third] = chain.link([an_entry()])
    assert [first.prev, second.prev, third.prev] == [GENESIS, first.digest, second.digest]
    assert [first.sequence, second.sequence, third.sequence] == [1, 2, 3]


def test_records_that_were_not_stored_leave_no_hole() -> None:
    chain = Chain("writer-1")
    chain.link([an_entry()])
    [again] = chain.link([an_entry()])
    assert (again.sequence, again.prev) == (1, GENESIS)


def test_ids_sort_by_time_and_are_uuids_of_version_7() -> None:
    early, late = new_id(NOW, b"\xff" * 10), new_id(NOW + timedelta(milliseconds=1), b"\0" * 10)
    assert early < late
    assert uuid.UUID(early).version == 7
    assert uuid.UUID(early).variant == uuid.RFC_4122


def test_the_canonical_bytes_leave_out_the_digest_alone() -> None:
    record = linked(an_entry(), "w", 1, GENESIS)
    assert set(json.loads(canonical(record))) == set(msgspec.structs.asdict(record)) - {"digest"}
