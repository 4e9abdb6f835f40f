"""Audit logs as they lie on disks: rotated, packed, torn, mixed with what is none."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from glasswarden.audit.files import Flaw, read_events
from tests.audit.builders import audit_document


def lines(*documents: dict[str, Any] | str) -> bytes:
    texts = (each if isinstance(each, str) else json.dumps(each) for each in documents)
    return "".join(f"{text}\n" for text in texts).encode()


def written(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    return file


def read(*files: Path) -> tuple[list[str], list[Flaw]]:
    """Return the ids of the events, and what could not be read."""
    flaws: list[Flaw] = []
    return [event.audit_id for event in read_events(files, flaws.append)], flaws


def test_rotated_files_are_read_oldest_first(
    tmp_path: Path,
) -> None:
    now = written(tmp_path / "audit.log", lines(audit_document(5), audit_document(6)))
    before = written(
        tmp_path / "audit-2026-03-01T12-04-30.000.log", lines(audit_document(3), audit_document(4))
    )
    first = written(tmp_path / "zzz", gzip.compress(lines(audit_document(1), audit_document(2))))
    assert read(now, first, before) == ([f"audit-{n}" for n in range(1, 7)], [])


def test_file_given_twice_is_read_once(tmp_path: Path) -> None:
    log = written(tmp_path / "audit.log", lines(audit_document()))
    assert read(log, log) == (["audit-0"], [])


@pytest.mark.parametrize("indent", [None, 2], ids=["on one line", "on many"])
def test_event_list_is_read_like_lines_of_events(tmp_path: Path, indent: int | None) -> None:
    items = [audit_document(1), audit_document(2)]
    text = json.dumps({"kind": "EventList", "items": items}, indent=indent)
    assert read(written(tmp_path / "list.json", text.encode())) == (["audit-1", "audit-2"], [])


def test_foreign_lines_are_skipped_and_reported(tmp_path: Path) -> None:
    content = lines("", "I1116 started", audit_document(1), '{"kind":"Pod"}', audit_document(2))
    log = written(tmp_path / "audit.log", content)
    events, flaws = read(log)
    assert events == ["audit-1", "audit-2"]
    assert [flaw.line for flaw in flaws] == [2, 4]
    assert str(flaws[0]).startswith(f"{log}:2: not an audit event")


def test_incomplete_last_line_is_reported(tmp_path: Path) -> None:
    log = written(tmp_path / "audit.log", lines(audit_document(1)) + lines(audit_document(2))[:80])
    events, [flaw] = read(log)
    assert (events, flaw.line) == (["audit-1"], 2)
    assert "torn" in flaw.why


def test_complete_last_line_without_a_line_feed_is_read(tmp_path: Path) -> None:
    log = written(tmp_path / "audit.log", lines(audit_document(1)).rstrip())
    assert read(log) == (["audit-1"], [])


def test_truncated_compressed_file_is_read_as_far_as_possible_and_reported(tmp_path: Path) -> None:
    packed = gzip.compress(lines(*(audit_document(n) for n in range(2000))))
    events, [flaw] = read(written(tmp_path / "audit.log.gz", packed[:-200]))
    assert 0 < len(events) < 2000
    assert flaw.line == 0


def test_missing_file_is_reported(tmp_path: Path) -> None:
    events, [flaw] = read(tmp_path / "none")
    assert (events, flaw.line) == ([], 0)


def test_progress_adds_up_to_the_size_of_the_files(tmp_path: Path) -> None:
    log = written(tmp_path / "audit.log", lines(*(audit_document(n) for n in range(5))))
    steps: list[int] = []
    list(read_events([log], lambda _: None, steps.append))
    assert sum(steps) == log.stat().st_size
