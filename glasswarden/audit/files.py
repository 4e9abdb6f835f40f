"""The files of an audit log, in any rotation, compression and naming: read once, or followed.

Events are read one at a time, so a log may be larger than memory. A document that is not an event
is skipped and always reported as a flaw: a log with holes must not look like a quiet cluster.
`Tail` follows a folder and reads each line once.
"""

import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import Final, TypeAlias

from glasswarden.audit.event import Event, NotAnEvent, parse_events

LONGEST: Final = 64 * 2**20
"""The size limit in bytes of one line, or of a list that spans several."""

_GZIP: Final = b"\x1f\x8b"
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Flaw:
    """A part of the log that could not be read."""

    file: Path
    line: int
    """Zero if the rest of the file cannot be read."""
    why: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.why}" if self.line else f"{self.file}: {self.why}"


ReportFlaw: TypeAlias = Callable[[Flaw], None]
Progress: TypeAlias = Callable[[int], None]


def read_events(
    files: Iterable[Path], report: ReportFlaw, progress: Progress = lambda _: None
) -> Iterator[Event]:
    """Yield the events of *files*, given in any order, file by file and the oldest first.

    *report* is called with every flaw, *progress* with the number of further bytes read.
    """
    for file in sorted(dict.fromkeys(files), key=_beginning_of):
        yield from _read(file, report, progress)


def _read(file: Path, report: ReportFlaw, progress: Progress) -> Iterator[Event]:
    seen = 0
    try:
        with file.open("rb") as stored:
            for number, document in _split_documents(_unzip(stored)):
                progress(stored.tell() - seen)
                seen = stored.tell()
                yield from parse_document(document, Flaw(file, number, ""), report)
    except (OSError, EOFError, zlib.error) as error:
        report(Flaw(file, 0, f"cannot be read on: {error}"))


def parse_document(document: bytes, place: Flaw, report: ReportFlaw) -> Iterable[Event]:
    """Return the events of *document*; *report* is called where it is not an event."""
    try:
        return parse_events(document)
    except NotAnEvent as error:
        why = f"not an audit event: {error}"
        if not document.endswith(b"\n"):
            why = "the last line is torn: cut off, or still being written"
        report(Flaw(place.file, place.line, why))
        return ()


def _split_documents(stream: BufferedReader | gzip.GzipFile) -> Iterator[tuple[int, bytes]]:
    """Yield the document of each line, or the one document that spans them all."""
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST), b""), start=1):
        if number == 1 and line.strip() == b"{":
            yield number, line + stream.read(LONGEST)
        elif line.strip():
            yield number, line


def _unzip(stream: BufferedReader) -> BufferedReader | gzip.GzipFile:
    # By content: the names of rotated logs vary.
    is_zipped = stream.peek(len(_GZIP)).startswith(_GZIP)
    return gzip.GzipFile(fileobj=stream) if is_zipped else stream


def _beginning_of(file: Path) -> datetime:
    """Return the time of the first event of *file*: its name and its own time are unreliable."""
    first = next(iter(_read(file, lambda _: None, lambda _: None)), None)
    return first.request_received_timestamp if first else _NEVER


PATTERN: Final = "audit*"
"""The names of the API server's files and of the intake's."""

_Identity: TypeAlias = tuple[int, int]


class Tail:
    """Follows the files of one folder, and reads each line once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # By identity, not by name: rotation renames files.
        self._read: dict[_Identity, int] = {}

    def read_new(self, report: ReportFlaw) -> Iterator[Event]:
        """Yield the events since the last call, the oldest file first; raises `OSError`."""
        states = {file: file.stat() for file in self._folder.glob(PATTERN)}
        present = {_identity_of(state) for state in states.values()}
        self._read = {key: value for key, value in self._read.items() if key in present}
        for file in sorted(states, key=lambda each: states[each].st_mtime_ns):
            yield from self._read_more(file, report)

    def _read_more(self, file: Path, report: ReportFlaw) -> Iterator[Event]:
        with file.open("rb") as stream:
            state = os.fstat(stream.fileno())
            identity = _identity_of(state)
            begin = self._read.get(identity, 0)
            if state.st_size < begin:
                begin = 0  # it was truncated and begun anew
            if stream.peek(len(_GZIP)).startswith(_GZIP):
                self._read[identity] = state.st_size
                yield from () if begin else read_events([file], report)
                return
            stream.seek(begin)
            # A last line without its end is still being written: it is read at the next call.
            while (line := stream.readline(LONGEST)).endswith(b"\n"):
                begin += len(line)
                self._read[identity] = begin
                if line.strip():
                    yield from parse_document(line, Flaw(file, 0, ""), report)


def _identity_of(state: os.stat_result) -> _Identity:
    return state.st_dev, state.st_ino
