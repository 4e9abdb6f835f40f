"""A record's bytes are canonical, and its digest vouches for all of them."""

import hashlib
import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from glasswarden.ledger.errors import RecordMalformed
from glasswarden.ledger.record import (
    FORMAT,
    GENESIS,
    Attempt,
    ChangedField,
    Foreign,
    new_id,
    read_record,
    seal,
)
from tests.ledger.builders import a_chain, an_attempt

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_record_verifies_by_the_documented_rule() -> None:
    record = seal(an_attempt(actor="zoë"), "writer-1", 1, GENESIS)
    text = json.dumps(
        json.loads(record.body), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert text.encode() == record.body
    assert hashlib.sha256(text.encode()).hexdigest() == record.digest


def test_record_is_read_as_it_was_stored() -> None:
    changes = (ChangedField(path="/a", new="\u2028"), ChangedField(path="/b", old=None))
    record = seal(an_attempt(actor="zoë", changes=changes), "w", 1, GENESIS)
    assert read_record(record.body, record.digest) == record


@pytest.mark.parametrize("field", sorted(Attempt.__struct_fields__))
def test_change_of_any_field_changes_the_digest(field: str) -> None:
    entry = an_attempt()
    record = seal(entry, "writer-1", 2, "a" * 64)
    place = {"writer": "writer-1", "sequence": 2, "prev": "a" * 64}
    if field in place:
        place[field] = _another(place[field])
        other = entry
    else:
        other = an_attempt(
            **{name: getattr(entry, name) for name in Attempt.__struct_fields__}
            | {field: _another(getattr(entry, field))}
        )
    assert seal(other, **place).digest != record.digest  # type: ignore[arg-type]


def _another(value: object) -> object:
    match value:
        case str():
            return value + "x"
        case int():
            return value + 1
        case datetime():
            return value + timedelta(microseconds=1)
        case dict():
            return {"other": ("value",)}
        case None:
            return NOW
        case [ChangedField(), *_]:
            return (ChangedField(path="/other"),)
        case _:
            return ("other",)


def test_each_record_contains_the_digest_of_its_predecessor() -> None:
    chain = a_chain()
    first, second = chain.link([an_attempt(), an_attempt()])
    chain.advance([first, second])
    [third] = chain.link([an_attempt()])
    entries = [first.entry, second.entry, third.entry]
    assert [entry.prev for entry in entries] == [GENESIS, first.digest, second.digest]
    assert [entry.sequence for entry in entries] == [1, 2, 3]


def test_records_that_were_not_stored_leave_no_gap_in_the_chain() -> None:
    chain = a_chain()
    chain.link([an_attempt()])
    [again] = chain.link([an_attempt()])
    assert (again.entry.sequence, again.entry.prev) == (1, GENESIS)


def test_ids_are_uuids_of_version_7_and_sort_by_time() -> None:
    early, late = new_id(NOW, b"\xff" * 10), new_id(NOW + timedelta(milliseconds=1), b"\0" * 10)
    assert early < late
    assert uuid.UUID(early).version == 7
    assert uuid.UUID(early).variant == uuid.RFC_4122


class TestLaterVersions:
    def test_unknown_field_is_ignored(self) -> None:
        body = seal(an_attempt(), "w", 1, GENESIS).body.replace(b"{", b'{"added":1,', 1)
        record = read_record(body, "0" * 64)
        assert isinstance(record.entry, Attempt)
        assert not record.is_later

    def test_record_of_a_later_format_is_read_and_marked(self) -> None:
        record = seal(an_attempt(format=FORMAT + 1), "w", 1, GENESIS)
        assert read_record(record.body, record.digest).is_later

    def test_record_of_an_unknown_type_is_read_by_its_common_fields(self) -> None:
        body = seal(an_attempt(), "w", 7, GENESIS).body.replace(b'"attempt"', b'"verdict-appeal"')
        record = read_record(body, "0" * 64)
        assert isinstance(record.entry, Foreign)
        assert (record.entry.type, record.entry.sequence) == ("verdict-appeal", 7)
        assert record.is_later

    @pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"type":"attempt"}', b"\xff"])
    def test_invalid_record_is_reported(self, body: bytes) -> None:
        with pytest.raises(RecordMalformed):
            read_record(body, "0" * 64)
