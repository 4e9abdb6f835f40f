"""The spool: synced files for records that cannot be delivered while the database is unavailable.

Each chain has its own file, with one record per line, in order. The process that writes or delivers
a file holds its lock, which the kernel releases when that process ends for any reason: the next
process delivers what a killed one left. Repeating a delivery is harmless, because a ledger skips
the records that it has; therefore only the end of a file ever changes, and a file is removed once
all of it was delivered.

The same lines are used for export and import. A line is a JSON object,
`{"digest":"…","record":{…},"signature":"…"}`, without the signature where there is none, and ends
with a line feed. It contains the record byte for byte as it was sealed, from the offset `BEGIN` on,
so that another program can cut it out and hash it without a parser: a line that ends in `"}` has a
signature, and the record ends before the last `,"signature":"`; in any other line the record ends
before the last `}`.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple, Self

from glasswarden.ledger.errors import RecordMalformed, SpoolDamaged, SpoolUnusable
from glasswarden.ledger.folders import make_folder, sync_folder
from glasswarden.ledger.record import Record, read_record

BEGIN: Final = len('{"digest":"') + 64 + len('","record":')
"""Where the record's bytes begin in every line."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_BASE64: Final = re.compile(r"([A-Za-z0-9+/]+=*)?")
_HEAD: Final = re.compile(rb'\{"digest":"([0-9a-f]{64})","record":(?=\{)')
_SIGNATURE: Final = re.compile(rb',"signature":"([A-Za-z0-9+/]+=*)"')


def line_of(record: Record) -> bytes:
    """Return *record* as a line; raise `RecordMalformed` if it could not be read back."""
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

    The caller verifies that the digest is that of the record.
    """
    head, text = _HEAD.match(line), line.removesuffix(b"\n")
    if head is None or not text.endswith(b"}"):
        raise RecordMalformed(f"not a record's line: {_excerpt_of(line)}")
    end, signature = len(text) - 1, ""
    if text.endswith(b'"}'):
        end = text.rfind(b',"signature":"')
        found = _SIGNATURE.fullmatch(text, end, len(text) - 1) if end > BEGIN else None
        if found is None:
            raise RecordMalformed(f"not a record's line: {_excerpt_of(line)}")
        signature = found[1].decode()
    return read_record(text[BEGIN:end], head[1].decode(), signature)


def _excerpt_of(line: bytes) -> str:
    """Return enough of *line* to find it: its digest, if it has one, and no values."""
    return repr(line[:BEGIN].decode("ascii", "replace"))


SUFFIX: Final = ".jsonl"
DAMAGED: Final = ".damaged"
"""The suffix of a file that was put aside: `ledger import` can read it, line by line."""

_CHUNK: Final = 1 << 20


class Batch(NamedTuple):
    """The next records to deliver."""

    records: list[Record]
    end: int
    """The offset behind them in the file."""


class Spool:
    """The waiting records of one chain. Belongs to one process and one thread."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self._limit = limit
        self._file = -1
        self._end = 0
        """How many bytes are whole lines, and synced."""

        self._delivered = 0
        self._unclean = False
        """Whether a failed write may have left bytes behind the end."""

        self.count = 0
        """How many records wait."""

        self._oldest: datetime | None = None
        self.torn = 0
        """Bytes at the end that were not written completely, and so never acknowledged."""

        self.damaged = False
        """Whether records follow what cannot be read: those were acknowledged."""

    @classmethod
    def adopt(cls, path: Path, file: int) -> Self:
        """Return the spool that an ended process left at *path*, open and locked as *file*.

        Every record before the first line that is not whole can be delivered.
        """
        spool = cls(path, limit=0)
        spool._file = file
        try:
            with open(file, "rb", closefd=False) as lines:
                for line in lines:
                    spool._look_at(line)
        except OSError:  # a broken disk: records may follow
            spool.damaged = True
        return spool

    def _look_at(self, line: bytes) -> None:
        record = _read_sound(line)
        if record is not None and not self.torn:
            self._end += len(line)
            self.count += 1
            self._oldest = self._oldest or record.entry.time
        else:
            self.torn += len(line)
            self.damaged |= record is not None

    @property
    def waiting(self) -> int:
        """The bytes that wait."""
        return self._end - self._delivered

    @property
    def oldest(self) -> datetime | None:
        """When the first of the records that wait was made, or the last before it."""
        return self._oldest

    def append(self, records: Sequence[Record]) -> None:
        """Append *records*; when this returns all of them are on the disk.

        On `SpoolUnusable` none of them is stored.
        """
        lines = b"".join(map(line_of, records))
        if self._end + len(lines) > self._limit:
            raise SpoolUnusable(f"the spool {self.path} is full: {self._end} bytes wait in it")
        try:
            self._open()
            self._write(lines)
        except OSError as error:
            raise SpoolUnusable(f"the spool {self.path} cannot be written: {error}") from error
        self._end += len(lines)
        self.count += len(records)
        self._oldest = self._oldest or records[0].entry.time

    def _open(self) -> None:
        if self._file >= 0:
            return
        make_folder(self.path.parent)
        # Locked before it gets its name: no other process can adopt it.
        draft = self.path.with_name(f".{self.path.name}")
        file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.rename(self.path)
            sync_folder(self.path.parent)
        except OSError:
            os.close(file)
            raise
        self._file = file

    def _write(self, lines: bytes) -> None:
        try:
            if self._unclean:
                os.ftruncate(self._file, self._end)
            self._unclean = True
            _write_at(self._file, lines, self._end)
            os.fsync(self._file)
        except OSError:
            # A part of a line may be written. If it cannot be truncated now, it is before the next
            # write; after a crash it is recognised as torn.
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
                self._unclean = False
            raise
        self._unclean = False

    def next_batch(self, most: int) -> Batch:
        """Return up to *most* records that come next, at least one, or raise `SpoolDamaged`."""
        try:
            lines = self._read_lines(most)
        except OSError as error:
            raise SpoolDamaged(f"the spool {self.path} cannot be read: {error}") from error
        records = [record for record in map(_read_sound, lines) if record is not None]
        if not records or len(records) < len(lines):
            raise SpoolDamaged(f"the spool {self.path} is not what was written to it")
        return Batch(records, self._delivered + sum(map(len, lines)))

    def _read_lines(self, most: int) -> list[bytes]:
        """Return up to *most* whole lines that come next."""
        size = _CHUNK
        while True:
            chunk = os.pread(self._file, min(size, self.waiting), self._delivered)
            lines = chunk.splitlines(keepends=True)[:most]
            whole = [line for line in lines if line.endswith(b"\n")]
            if whole or size >= self.waiting:
                return whole
            size *= 2

    def acknowledge(self, batch: Batch) -> None:
        """Continue after *batch*, which was delivered; after the last one the file is removed."""
        self._delivered = batch.end
        self.count -= len(batch.records)
        self._oldest = batch.records[-1].entry.time if self.count else None
        if not self.waiting:
            self.discard()

    def put_aside(self) -> Path:
        """Rename the file for inspection, so that it is not delivered any more."""
        aside = self.path.with_name(f"{self.path.name}{DAMAGED}")
        with suppress(OSError):
            self.path.rename(aside)
        self.close()
        self._end = self._delivered = self.count = 0
        self._oldest = None
        return aside

    def close(self) -> None:
        """Close the file; the next process delivers what is left in it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def discard(self) -> None:
        """Remove the file: everything in it was delivered."""
        if self.damaged:
            self.put_aside()
            return
        try:
            self.path.unlink()
        except OSError:
            return  # a read-only volume: new records are appended to the delivered ones
        self.close()
        self._end = self._delivered = 0


def new_spool(folder: Path, writer: str, limit: int) -> Spool:
    """Return the spool of *writer*'s chain, of at most *limit* bytes; created when needed."""
    return Spool(folder / f"{writer}{SUFFIX}", limit)


def adopt_spools(folder: Path) -> Iterator[Spool]:
    """Yield the spools in *folder* that no process has locked, and lock them."""
    # A draft, whose name begins with a dot, belongs to a process that is creating it.
    for path in sorted(folder.glob(f"[!.]*{SUFFIX}")):
        file = _lock_file(path)
        if file is not None:
            yield Spool.adopt(path, file)


def _lock_file(path: Path) -> int | None:
    """Return the open and locked file, none if another process has it."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None  # delivered just now, or not readable for us
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(path.stat(), os.fstat(file)):
            return file
    except OSError:
        pass
    os.close(file)
    return None


def _read_sound(line: bytes) -> Record | None:
    if not line.endswith(b"\n"):
        return None
    try:
        record = parse_line(line)
    except RecordMalformed:
        return None
    return record if hashlib.sha256(record.body).hexdigest() == record.digest else None


def _write_at(file: int, content: bytes, place: int) -> None:
    view = memoryview(content)
    while view:
        written = os.pwrite(file, view, place)
        view, place = view[written:], place + written
