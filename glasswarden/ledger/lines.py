"""Records as lines of text: how they are spooled, exported and imported.

A line is a JSON object, `{"digest":"…","record":{…},"signature":"…"}`, without the signature where
there is none, and ends with a line feed. The record stands in it byte for byte as it was sealed,
from the place `BEGIN` on, so that another program can cut it out and hash it without a parser:
a line that ends in `"}` has a signature, and the record ends before the last `,"signature":"`; in
any other the record ends before the last `}`.
"""

import re
from typing import Final

from glasswarden.ledger.errors import RecordMalformed
from glasswarden.ledger.record import Record, read_record

BEGIN: Final = len('{"digest":"') + 64 + len('","record":')
"""Where the record's bytes begin in every line."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_BASE64: Final = re.compile(r"([A-Za-z0-9+/]+=*)?")
_HEAD: Final = re.compile(rb'\{"digest":"([0-9a-f]{64})","record":(?=\{)')
_SIGNATURE: Final = re.compile(rb',"signature":"([A-Za-z0-9+/]+=*)"')


def line_of(record: Record) -> bytes:
    """Return *record* as a line; raise `RecordMalformed` where nobody could read it back."""
    if not (
        record.body.startswith(b"{")
        and b"\n" not in record.body
        and _DIGEST.fullmatch(record.digest)
        and _BASE64.fullmatch(record.signature)
    ):
        raise RecordMalformed(f"record {record.entry.id} does not fit a line")
    signature = b',"signature":"%b"' % record.signature.encode() if record.signature else b""
    return b'{"digest":"%b","record":%b%b}\n' % (record.digest.encode(), record.body, signature)


def parse_line(line: bytes) -> Record:
    """Return the record in *line*, or raise `RecordMalformed`.

    Whether the digest is that of the record is for the caller to ask.
    """
    head, text = _HEAD.match(line), line.removesuffix(b"\n")
    if head is None or not text.endswith(b"}"):
        raise RecordMalformed(f"not a record's line: {_excerpt(line)}")
    end, signature = len(text) - 1, ""
    if text.endswith(b'"}'):
        end = text.rfind(b',"signature":"')
        found = _SIGNATURE.fullmatch(text, end, len(text) - 1) if end > BEGIN else None
        if found is None:
            raise RecordMalformed(f"not a record's line: {_excerpt(line)}")
        signature = found[1].decode()
    return read_record(text[BEGIN:end], head[1].decode(), signature)


def _excerpt(line: bytes) -> str:
    """Return enough of *line* to find it by: its digest, where it has one, and no values."""
    return repr(line[:BEGIN].decode("ascii", "replace"))
