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
    """Return *lines* as a process that is gone left them."""
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


def test_what_waits_comes_out_in_order_and_takes_its_file_with_it(tmp_path: Path) -> None:
    spool, written = a_spool(tmp_path), records(5)
    spool.append(written[:2])
    spool.append(written[2:])
    assert (spool.count, spool.oldest) == (5, written[0].entry.time)
    assert delivered(spool) == written
    assert (spool.count, spool.waiting, spool.oldest) == (0, 0, None)
    assert list(tmp_path.iterdir()) == []


def test_it_serves_again_after_it_was_emptied(tmp_path: Path) -> None:
    spool, written = a_spool(tmp_path), records(4)
    for pair in (written[:2], written[2:]):
        spool.append(pair)
        assert delivered(spool) == pair


def test_a_record_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    written = a_chain().link([an_attempt(reason="x" * 3_000_000), an_attempt()])
    spool = a_spool(tmp_path, limit=10 * AMPLE)
    spool.append(written)
    assert delivered(spool) == written


def test_records_that_come_while_others_are_delivered_go_behind_them(tmp_path: Path) -> None:
    spool, written = a_spool(tmp_path), records(3)
    spool.append(written[:2])
    batch = spool.next_batch(1)
    spool.append(written[2:])
    spool.acknowledge(batch)
    assert delivered(spool) == written[1:]


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    a_spool(tmp_path / "spool").append(records(1))
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "spool" / "writer-1.jsonl").stat().st_mode & 0o777 == 0o600


class TestDamaged:
    """What was acknowledged cannot be read back, while its writer lives."""

    def test_a_file_that_somebody_emptied(self, tmp_path: Path) -> None:
        spool = a_spool(tmp_path)
        spool.append(records(2))
        os.truncate(spool.path, 0)
        with pytest.raises(SpoolDamaged, match="not what was written"):
            spool.next_batch(2)

    def test_a_file_that_somebody_cut(self, tmp_path: Path) -> None:
        spool, written = a_spool(tmp_path), records(2)
        spool.append(written)
        os.truncate(spool.path, len(line_of(written[0])) + 10)
        batch = spool.next_batch(2)
        assert batch.records == written[:1]
        spool.acknowledge(batch)
        with pytest.raises(SpoolDamaged):
            spool.next_batch(2)

    def test_another_records_bytes(self, tmp_path: Path) -> None:
        spool = a_spool(tmp_path)
        spool.append(records(1))
        spool.path.write_bytes(spool.path.read_bytes().replace(b"shop", b"pohs"))
        with pytest.raises(SpoolDamaged):
            spool.next_batch(2)

    def test_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        spool = a_spool(tmp_path)
        spool.append(records(1))
        spool.close()
        with pytest.raises(SpoolDamaged, match="cannot be read"):
            spool.next_batch(2)


class TestBounds:
    def test_a_full_spool_says_so_and_keeps_what_it_has(self, tmp_path: Path) -> None:
        written = records(3)
        spool = a_spool(tmp_path, limit=len(line_of(written[0])) + len(line_of(written[1])))
        spool.append(written[:2])
        with pytest.raises(SpoolUnusable, match="full"):
            spool.append(written[2:])
        assert delivered(spool) == written[:2]

    def test_a_full_disk_leaves_no_half_of_a_line(self, tmp_path: Path) -> None:
        spool, written = a_spool(tmp_path), records(4)
        spool.append(written[:1])
        size = spool.path.stat().st_size
        with files_end_at(size + 100), pytest.raises(SpoolUnusable, match="cannot be written"):
            spool.append(written[1:3])
        assert spool.path.stat().st_size == size
        spool.append(written[1:])
        assert delivered(spool) == written

    def test_a_folder_that_cannot_be_made_is_said(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(SpoolUnusable, match="cannot be written"):
            a_spool(tmp_path / "file").append(records(1))


class TestLeftOvers:
    def test_what_a_process_left_is_found_once(self, tmp_path: Path) -> None:
        spool, written = a_spool(tmp_path), records(3)
        spool.append(written)
        assert list(adopt_spools(tmp_path)) == []  # its owner lives
        spool.close()
        [found] = adopt_spools(tmp_path)
        assert list(adopt_spools(tmp_path)) == []  # we have it
        assert delivered(found) == written
        assert list(tmp_path.iterdir()) == []

    def test_what_was_delivered_in_part_is_delivered_again(self, tmp_path: Path) -> None:
        spool, written = a_spool(tmp_path), records(3)
        spool.append(written)
        spool.acknowledge(spool.next_batch(2))
        spool.close()
        [found] = adopt_spools(tmp_path)
        assert delivered(found) == written

    def test_what_somebody_is_about_to_make_is_none(self, tmp_path: Path) -> None:
        """A file is locked a moment after it is made, and only then gets its name."""
        (tmp_path / ".writer-1.jsonl").touch()
        assert list(adopt_spools(tmp_path)) == []

    def test_no_folder_has_no_left_overs(self, tmp_path: Path) -> None:
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
    def test_a_torn_line_is_left_out(self, tmp_path: Path, tail: bytes) -> None:
        written = records(2)
        spool = left(tmp_path, b"".join(map(line_of, written)) + tail)
        assert (spool.torn, spool.damaged) == (len(tail), False)
        assert delivered(spool) == written

    def test_a_file_with_nothing_but_a_torn_line_goes(self, tmp_path: Path) -> None:
        spool = left(tmp_path, b'{"digest":"')
        assert (spool.waiting, spool.torn) == (0, 11)
        spool.discard()
        assert list(tmp_path.iterdir()) == []

    def test_damage_in_the_middle_is_kept_for_people(self, tmp_path: Path) -> None:
        lines = [line_of(record) for record in records(3)]
        lines[1] = lines[1].replace(b"shop", b"pohs")
        spool = left(tmp_path, b"".join(lines))
        assert spool.damaged
        assert len(delivered(spool)) == 1
        [kept] = tmp_path.iterdir()
        assert kept.name == "writer-1.jsonl.damaged"
        assert kept.read_bytes() == b"".join(lines)

    def test_a_process_that_is_killed_gives_its_lock_back(self, tmp_path: Path) -> None:
        written = records(1)
        child = os.fork()
        if child == 0:
            a_spool(tmp_path).append(written)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        [found] = adopt_spools(tmp_path)
        assert delivered(found) == written
