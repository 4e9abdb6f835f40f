"""Follows the files of an audit log, however they are rotated: each line is read once."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from glasswarden.audit.event import Event
from glasswarden.audit.files import LONGEST, Flaw, Tell, parsed, read_events

PATTERN: Final = "audit*"
"""The names that the API server and the intake give."""

_Identity: TypeAlias = tuple[int, int]

_GZIP: Final = b"\x1f\x8b"


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
