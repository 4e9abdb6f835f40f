"""The files of an audit log, however they were rotated, packed and named.

Events come one at a time, so a log may be larger than memory. What is no event costs itself only,
and is always said: a log with holes must not read like a quiet cluster.

Follows the files of an audit log, however they are rotated: each line is read once.
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
"""Bytes of one line, or of a list that spans several: more is no event of any API server."""

_GZIP: Final = b"\x1f\x8b"
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Flaw:
    """A part of the log that could not be read."""

    file: Path
    line: int
    """Zero when it is the rest of the file."""
    why: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.why}" if self.line else f"{self.file}: {self.why}"


Tell: TypeAlias = Callable[[Flaw], None]
Progress: TypeAlias = Callable[[int], None]


def read_events(
    files: Iterable[Path], tell: Tell, progress: Progress = lambda _: None
) -> Iterator[Event]:
    """Yield the events of *files*, given in any order, file by file and the oldest first.

    *tell* hears of every flaw, *progress* how many more bytes were read.
    """
    for file in sorted(dict.fromkeys(files), key=_beginning):
        yield from _read(file, tell, progress)


def _read(file: Path, tell: Tell, progress: Progress) -> Iterator[Event]:
    seen = 0
    try:
        with file.open("rb") as stored:
            for number, document in _documents(_unzipped(stored)):
                progress(stored.tell() - seen)
                seen = stored.tell()
                yield from parsed(document, Flaw(file, number, ""), tell)
    except (OSError, EOFError, zlib.error) as error:
        tell(Flaw(file, 0, f"cannot be read on: {error}"))


def parsed(document: bytes, place: Flaw, tell: Tell) -> Iterable[Event]:
    """Return the events of *document*; of what is none, *tell* hears."""
    try:
        return parse_events(document)
    except NotAnEvent as error:
        why = f"not an audit event: {error}"
        if not document.endswith(b"\n"):
            why = "the last line is torn: cut off, or still being written"
        tell(Flaw(place.file, place.line, why))
        return ()


def _documents(stream: BufferedReader | gzip.GzipFile) -> Iterator[tuple[int, bytes]]:
    """Yield what stands on each line, or the one document that spans them all."""
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST), b""), start=1):
        if number == 1 and line.strip() == b"{":
            yield number, line + stream.read(LONGEST)
        elif line.strip():
            yield number, line


def _unzipped(stream: BufferedReader) -> BufferedReader | gzip.GzipFile:
    # By content: whoever rotates logs names them as they like.
    is_zipped = stream.peek(len(_GZIP)).startswith(_GZIP)
    return gzip.GzipFile(fileobj=stream) if is_zipped else stream


def _beginning(file: Path) -> datetime:
    """Return when the first event of *file* came in: names and times of files prove nothing."""
    first = next(iter(_read(file, lambda _: None, lambda _: None)), None)
    return first.request_received_timestamp if first else _NEVER


PATTERN: Final = "audit*"
"""The names that the API server and the intake give."""

_Identity: TypeAlias = tuple[int, int]


class Tail:
    """What was read of the files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # By what a file is, not by its name: to rotate is to rename.
        self._read: dict[_Identity, int] = {}

    def events(self, tell: Tell) -> Iterator[Event]:
        """Yield what is new since the last time, the oldest file first; raises `OSError`."""
        states = {file: file.stat() for file in self._folder.glob(PATTERN)}
        present = {_identity(state) for state in states.values()}
        self._read = {key: value for key, value in self._read.items() if key in present}
        for file in sorted(states, key=lambda each: states[each].st_mtime_ns):
            yield from self._more_of(file, tell)

    def _more_of(self, file: Path, tell: Tell) -> Iterator[Event]:
        with file.open("rb") as stream:
            state = os.fstat(stream.fileno())
            identity = _identity(state)
            begin = self._read.get(identity, 0)
            if state.st_size < begin:
                begin = 0  # it was emptied and begun anew
            if stream.peek(len(_GZIP)).startswith(_GZIP):
                self._read[identity] = state.st_size
                yield from () if begin else read_events([file], tell)
                return
            stream.seek(begin)
            # A last line without its end is still being written: it is read the next time.
            while (line := stream.readline(LONGEST)).endswith(b"\n"):
                begin += len(line)
                self._read[identity] = begin
                if line.strip():
                    yield from parsed(line, Flaw(file, 0, ""), tell)


def _identity(state: os.stat_result) -> _Identity:
    return state.st_dev, state.st_ino
