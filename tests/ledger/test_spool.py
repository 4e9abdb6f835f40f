"""Files where records wait: nothing acknowledged is lost, nothing else is invented."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from glasswarden.ledger.errors import SpoolDamaged, SpoolUnusable
from glasswarden.ledger.record import Record
from glasswarden.ledger.spool import Spool, adopt_spools, line_of, new_spool
from tests.ledger.builders import a_chain, an_attempt

AMPLE = 1_000_000


def records(count: int) -> list[Record]:
    return a_chain().link([an_attempt() for _ in range(count)])


def a_spool(folder: Path, limit: int = AMPLE) -> Spool:
    return new_spool(folder, "writer-1", limit)


def delivered(spool: Spool, most: int = 2) -> list[Record]:
    """Return what a deliverer would have brought to the ledger."""
    taken = []
    while spool.waiting:
        batch = spool.next_batch(most)
        taken += batch.records
        spool.acknowledge(batch)
    return taken


def left(folder: Path, lines: bytes) -> Spool:
    """Return *lines* as an ended process left them."""
    (folder / "writer-1.jsonl").write_bytes(lines)
    [spool] = adopt_spools(folder)
    return spool


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond *size*: a full disk, as `write` reports it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_spool_is_delivered_in_order_and_deleted(tmp_path: Path) -> None:
    spool, written = a_spool(tmp_path), records(5)
    spool.append(written[:2])
    spool.append(written[2:])
    assert (spool.count, spool.oldest) == (5, written[0].entry.time)
    assert delivered(spool) == written
    assert (spool.count, spool.waiting, spool.oldest) == (0, 0, None)
    assert list(tmp_path.iterdir()) == []


def test_emptied_spool_can_be_used_again(tmp_path: Path) -> None:
    spool, written = a_spool(tmp_path), records(4)
    for pair in (written[:2], written[2:]):
        spool.append(pair)
        assert delivered(spool) == pair


def test_record_larger_than_the_read_buffer_is_delivered(tmp_path: Path) -> None:
    written = a_chain().link([an_attempt(reason="x" * 3_000_000), an_attempt()])
    spool = a_spool(tmp_path, limit=10 * AMPLE)
    spool.append(written)
    assert delivered(spool) == written


def test_records_appended_during_delivery_are_delivered_last(tmp_path: Path) -> None:
    spool, written = a_spool(tmp_path), records(3)
    spool.append(written[:2])
    batch = spool.next_batch(1)
    spool.append(written[2:])
    spool.acknowledge(batch)
    assert delivered(spool) == written[1:]


def test_spool_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    a_spool(tmp_path / "spool").append(records(1))
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "spool" / "writer-1.jsonl").stat().st_mode & 0o777 == 0o600


class TestDamagedFile:
    """What was acknowledged cannot be read back, while its writer lives."""

    def test_emptied_file_is_damaged(self, tmp_path: Path) -> None:
        spool = a_spool(tmp_path)
        spool.append(records(2))
        os.truncate(spool.path, 0)
        with pytest.raises(SpoolDamaged, match="not what was written"):
            spool.next_batch(2)

    def test_truncated_file_is_damaged(self, tmp_path: Path) -> None:
        spool, written = a_spool(tmp_path), records(2)
        spool.append(written)
        os.truncate(spool.path, len(line_of(written[0])) + 10)
        batch = spool.next_batch(2)
        assert batch.records == written[:1]
        spool.acknowledge(batch)
        with pytest.raises(SpoolDamaged):
            spool.next_batch(2)

    def test_file_with_the_bytes_of_another_record_is_damaged(self, tmp_path: Path) -> None:
        spool = a_spool(tmp_path)
        spool.append(records(1))
        spool.path.write_bytes(spool.path.read_bytes().replace(b"shop", b"pohs"))
        with pytest.raises(SpoolDamaged):
            spool.next_batch(2)

    def test_unreadable_file_is_reported(self, tmp_path: Path) -> None:
        spool = a_spool(tmp_path)
        spool.append(records(1))
        spool.close()
        with pytest.raises(SpoolDamaged, match="cannot be read"):
            spool.next_batch(2)


class TestBounds:
    def test_full_spool_rejects_records_and_keeps_its_contents(self, tmp_path: Path) -> None:
        written = records(3)
        spool = a_spool(tmp_path, limit=len(line_of(written[0])) + len(line_of(written[1])))
        spool.append(written[:2])
        with pytest.raises(SpoolUnusable, match="full"):
            spool.append(written[2:])
        assert delivered(spool) == written[:2]

    def test_full_disk_leaves_no_partial_line(self, tmp_path: Path) -> None:
        spool, written = a_spool(tmp_path), records(4)
        spool.append(written[:1])
        size = spool.path.stat().st_size
        with files_end_at(size + 100), pytest.raises(SpoolUnusable, match="cannot be written"):
            spool.append(written[1:3])
        assert spool.path.stat().st_size == size
        spool.append(written[1:])
        assert delivered(spool) == written

    def test_folder_that_cannot_be_created_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(SpoolUnusable, match="cannot be written"):
            a_spool(tmp_path / "file").append(records(1))


class TestAdoptSpools:
    def test_spool_of_an_ended_process_is_adopted_once(self, tmp_path: Path) -> None:
        spool, written = a_spool(tmp_path), records(3)
        spool.append(written)
        assert list(adopt_spools(tmp_path)) == []  # its owner lives
        spool.close()
        [found] = adopt_spools(tmp_path)
        assert list(adopt_spools(tmp_path)) == []  # we have it
        assert delivered(found) == written
        assert list(tmp_path.iterdir()) == []

    def test_partly_delivered_spool_is_delivered_again_as_a_whole(self, tmp_path: Path) -> None:
        spool, written = a_spool(tmp_path), records(3)
        spool.append(written)
        spool.acknowledge(spool.next_batch(2))
        spool.close()
        [found] = adopt_spools(tmp_path)
        assert delivered(found) == written

    def test_spool_under_creation_is_not_adopted(self, tmp_path: Path) -> None:
        """A file is locked a moment after it is made, and only then gets its name."""
        (tmp_path / ".writer-1.jsonl").touch()
        assert list(adopt_spools(tmp_path)) == []

    def test_missing_folder_has_no_spools(self, tmp_path: Path) -> None:
        assert list(adopt_spools(tmp_path / "none")) == []

    @pytest.mark.parametrize(
        "tail",
        [
            pytest.param(line_of(records(1)[0])[:200], id="half a line"),
            pytest.param(line_of(records(1)[0])[:-1], id="all but the line feed"),
            pytest.param(b"\0" * 500, id="space that was never filled"),
            pytest.param(line_of(records(1)[0]).replace(b"shop", b"pohs"), id="another's bytes"),
        ],
    )
    def test_torn_last_line_is_skipped(self, tmp_path: Path, tail: bytes) -> None:
        written = records(2)
        spool = left(tmp_path, b"".join(map(line_of, written)) + tail)
        assert (spool.torn, spool.damaged) == (len(tail), False)
        assert delivered(spool) == written

    def test_file_with_only_a_torn_line_can_be_discarded(self, tmp_path: Path) -> None:
        spool = left(tmp_path, b'{"digest":"')
        assert (spool.waiting, spool.torn) == (0, 11)
        spool.discard()
        assert list(tmp_path.iterdir()) == []

    def test_file_damaged_in_the_middle_is_set_aside(self, tmp_path: Path) -> None:
        lines = [line_of(record) for record in records(3)]
        lines[1] = lines[1].replace(b"shop", b"pohs")
        spool = left(tmp_path, b"".join(lines))
        assert spool.damaged
        assert len(delivered(spool)) == 1
        [kept] = tmp_path.iterdir()
        assert kept.name == "writer-1.jsonl.damaged"
        assert kept.read_bytes() == b"".join(lines)

    def test_spool_of_a_killed_process_is_unlocked(self, tmp_path: Path) -> None:
        written = records(1)
        child = os.fork()
        if child == 0:
            a_spool(tmp_path).append(written)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        [found] = adopt_spools(tmp_path)
        assert delivered(found) == written
