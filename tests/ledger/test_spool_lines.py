"""Records as lines: exact both ways, and readable without this program."""

import hashlib
import json

import pytest

from glasswarden.ledger.chain import new_opening
from glasswarden.ledger.errors import RecordMalformed
from glasswarden.ledger.record import Record
from glasswarden.ledger.spool import BEGIN, line_of, parse_line
from tests.ledger.builders import SIGNER, TIME, a_chain, an_attempt, records_of


def a_signed_record() -> Record:
    [record] = a_chain().link([new_opening("test", [], SIGNER, TIME, b"0123456789")])
    return record


def a_record(**differing: str) -> Record:
    [record] = records_of(an_attempt(**differing))
    return record


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(a_record(), id="unsigned"),
        pytest.param(a_signed_record(), id="signed"),
        pytest.param(a_record(name='x","signature":"AAAA"}'), id="a name that looks like the end"),
        pytest.param(a_record(reason="two\nlines, ünïcode \u2028"), id="line breaks in a value"),
    ],
)
def test_record_is_read_from_its_line_unchanged(record: Record) -> None:
    line = line_of(record)
    assert line.count(b"\n") == 1
    assert parse_line(line) == record
    assert parse_line(line.removesuffix(b"\n")) == record


def test_line_is_json_and_contains_the_bytes_of_its_record() -> None:
    record = a_signed_record()
    line = line_of(record)
    assert json.loads(line) == {
        "digest": record.digest,
        "record": json.loads(record.body),
        "signature": record.signature,
    }
    body = line[BEGIN : line.rindex(b',"signature":"')]
    assert hashlib.sha256(body).hexdigest() == record.digest


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"", id="empty"),
        pytest.param(line_of(a_record())[:-3], id="cut"),
        pytest.param(line_of(a_record())[:40], id="cut in the digest"),
        pytest.param(line_of(a_signed_record())[:-9] + b"}\n", id="cut in the signature"),
        pytest.param(line_of(a_record()).replace(b'"digest"', b'"DIGEST"'), id="another key"),
        pytest.param(line_of(a_record()).replace(b'"record":{', b'"record":[{'), id="no object"),
        pytest.param(line_of(a_record()).replace(b'"verdict"', b'"vredict"'), id="no record"),
    ],
)
def test_invalid_line_is_rejected(line: bytes) -> None:
    with pytest.raises(RecordMalformed):
        parse_line(line)
