"""A log that goes on being written and rotated: each event is read once."""

import gzip
import json
from pathlib import Path

import pytest

from glasswarden.audit.files import Tail
from tests.audit.builders import audit_document


def line(minute: float) -> str:
    return json.dumps(audit_document(minute)) + "\n"


def add(file: Path, text: str) -> None:
    with file.open("a") as stream:
        stream.write(text)


class Reader:
    def __init__(self, folder: Path) -> None:
        self.tail = Tail(folder)
        self.flaws: list[object] = []

    def __call__(self) -> list[str]:
        return [event.audit_id for event in self.tail.read_new(self.flaws.append)]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


def test_tail_reads_only_new_lines(read: Reader, log: Path) -> None:
    assert read() == []
    add(log, line(1) + line(2))
    assert read() == ["audit-1", "audit-2"]
    assert read() == []
    add(log, line(3))
    assert read() == ["audit-3"]


def test_tail_reads_a_line_when_it_is_complete(read: Reader, log: Path) -> None:
    text = line(1)
    add(log, text[:50])
    assert (read(), read.flaws) == ([], [])
    add(log, text[50:])
    assert (read(), read.flaws) == (["audit-1"], [])


def test_tail_reads_a_rotated_file_to_its_end(read: Reader, log: Path) -> None:
    add(log, line(1))
    assert read() == ["audit-1"]
    add(log, line(2))
    log.rename(log.with_name("audit-2026-03-01T12-02-00.000.log"))
    add(log, line(3))
    assert sorted(read()) == ["audit-2", "audit-3"]


def test_tail_reads_a_truncated_file_from_its_beginning(read: Reader, log: Path) -> None:
    add(log, line(1) + line(2))
    read()
    log.write_text(line(3))
    assert read() == ["audit-3"]


def test_tail_reads_a_compressed_file_once(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "audit-old.log.gz").write_bytes(gzip.compress(line(1).encode()))
    assert (read(), read()) == (["audit-1"], [])


def test_tail_reports_an_invalid_line_once(read: Reader, log: Path) -> None:
    add(log, "nonsense\n" + line(1))
    assert (read(), read(), len(read.flaws)) == (["audit-1"], [], 1)


def test_tail_of_a_missing_folder_is_empty(tmp_path: Path) -> None:
    assert Reader(tmp_path / "none")() == []
