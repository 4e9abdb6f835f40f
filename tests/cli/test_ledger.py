"""`glasswarden ledger`: fsck, prune, hold, export and import, as they are typed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from glasswarden.cli.main import main
from glasswarden.ledger.chain import FILE, Signer, make_signer, open_signer
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.open import keys_beside, open_ledger
from glasswarden.ledger.record import seal
from tests.ledger.builders import an_attempt
from tests.ledger.fsck.builders import STRANGER, Intruder, Writer, some_attempts
from tests.ledger.fsck.test_witness import an_event, as_log

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/ledger.db"


@pytest.fixture
def signer(address: str) -> Signer:
    make_signer(keys_beside(address))
    return open_signer(keys_beside(address))


@pytest.fixture
def ledger(address: str, signer: Signer) -> Iterator[Ledger]:
    """Return a ledger with a chain of twelve records, one a day, the last of today."""
    with closing(open_ledger(address)) as opened:
        days = [an_attempt(time=NOW - day * DAY, ticket="INC-1") for day in range(10, -1, -1)]
        Writer(opened, "one", signer, NOW - 11 * DAY).writes(*days, is_closed=False)
        yield opened


def ledger_command(address: str, *arguments: str, stdin: bytes | None = None) -> Result:
    command, *rest = arguments
    words = ["ledger", command]
    if command == "hold":
        words.append(rest.pop(0))
    return CliRunner().invoke(main, [*words, "--ledger", address, *rest], input=stdin)


@pytest.mark.usefixtures("ledger")
class TestFsck:
    def test_fsck_reports_a_clean_ledger(self, address: str, signer: Signer) -> None:
        result = ledger_command(address, "fsck", "--public-key", signer.public_key)
        assert result.exit_code == 0
        assert result.stdout == ("clean: 12 records in 1 chain (0 closed, 1 open or killed)\n")

    def test_fsck_reports_that_no_key_was_given(self, address: str, signer: Signer) -> None:
        (keys_beside(address) / FILE).unlink()
        result = ledger_command(address, "fsck")
        assert result.exit_code == 0
        assert f"signed by {signer.public_key}\n" in result.stdout
        assert "No key was given" in result.stdout

    def test_fsck_prints_a_line_per_finding_and_exits_with_1(self, address: str) -> None:
        Intruder(address).run("DELETE FROM record WHERE sequence = 5")
        result = ledger_command(address, "fsck", "--quiet")
        assert result.exit_code == 1
        assert result.stdout == "removed: one#5: the record at 5 was removed\n"

    def test_fsck_prints_a_json_line_per_finding(self, address: str) -> None:
        Intruder(address).run("DELETE FROM record WHERE sequence = 5")
        result = ledger_command(address, "fsck", "--format", "json")
        finding, summary = map(json.loads, result.stdout.splitlines())
        assert finding == {
            "finding": "removed",
            "chain": "one",
            "sequence": 5,
            "through": 5,
            "sentence": "the record at 5 was removed",
        }
        assert summary["summary"]["findings"] == 1
        assert summary["summary"]["keys_checked"] is True

    def test_fsck_finds_a_chain_of_an_untrusted_key(
        self, address: str, ledger: Ledger, signer: Signer, tmp_path: Path
    ) -> None:
        """By the one that is given, the one in a folder, or the one beside the ledger."""
        Writer(ledger, "two", STRANGER).writes(an_attempt())
        keys_beside(address).rename(tmp_path / "keys")
        assert ledger_command(address, "fsck").exit_code == 0
        by = ("--public-key", signer.public_key), ("--keys", str(tmp_path / "keys")), ()
        for options in by:
            if not options:
                (tmp_path / "keys").rename(keys_beside(address))
            result = ledger_command(address, "fsck", *options, "--quiet")
            assert result.exit_code == 1
            assert "is not a trusted one" in result.stdout

    def test_fsck_rejects_a_folder_without_a_key(self, address: str, tmp_path: Path) -> None:
        result = ledger_command(address, "fsck", "--keys", str(tmp_path / "none"))
        assert result.exit_code == 2
        assert "ledger-signing.pem" in result.stderr

    def test_fsck_reports_records_of_a_later_version(self, address: str, ledger: Ledger) -> None:
        *_, last = ledger.rows("one")
        ledger.append([seal(an_attempt(format=99), "one", 13, last.digest)])
        result = ledger_command(address, "fsck")
        assert result.exit_code == 0
        assert "1 record of a later version" in result.stdout
        told = json.loads(ledger_command(address, "fsck", "--format", "json").stdout)
        assert told["summary"]["later"] == 1

    def test_fsck_prints_a_chain_name_with_invalid_utf8(self, address: str) -> None:
        Intruder(address).run("UPDATE chain SET writer = CAST(x'ff1b' AS TEXT)")
        result = ledger_command(address, "fsck", "--quiet")
        assert result.exit_code == 1
        assert "missing-chain: \\udcff\\x1b#12: " in result.stdout
        found = ledger_command(address, "fsck", "--quiet", "--format", "json").stdout
        assert json.loads(found.splitlines()[0])["chain"] == "\udcff\x1b"

    def test_fsck_resume_reads_only_new_records(
        self, address: str, ledger: Ledger, tmp_path: Path
    ) -> None:
        state = str(tmp_path / "state")
        assert "12 records" in ledger_command(address, "fsck", "--resume", state).stdout
        assert "1 record in 1 chain" in ledger_command(address, "fsck", "--resume", state).stdout
        Writer(ledger, "two", STRANGER).writes(an_attempt())
        result = ledger_command(address, "fsck", "--resume", state)
        assert result.exit_code == 1
        assert f"its key {STRANGER.public_key} is not a trusted one" in result.stdout

    def test_fsck_since_reads_only_younger_records(self, address: str) -> None:
        result = ledger_command(address, "fsck", "--since", "60h")
        assert result.stdout.startswith("clean: 4 records")

    def test_fsck_compares_with_an_audit_log(self, address: str, tmp_path: Path) -> None:
        events = [an_event(NOW - 3 * DAY - DAY / 2), an_event(NOW - DAY - DAY / 2)]
        log = as_log(tmp_path / "audit.log", [*events, "broken"])
        result = ledger_command(address, "fsck", "--audit-log", str(log))
        assert result.exit_code == 1
        assert "unwitnessed: one#9: " in result.stdout
        assert "unwitnessed: one#10: " in result.stdout
        assert result.stdout.count("unwitnessed") == 2
        assert "audit log: 2 events, 1 broken line" in result.stdout


class TestProgress:
    """A run over more than somebody wants to wait for."""

    @pytest.fixture
    def chains(self, address: str, signer: Signer) -> None:
        with closing(open_ledger(address)) as opened:
            for name in ("one", "two", "three"):
                Writer(opened, name, signer).writes(*some_attempts(300))

    def run(self, script: str, *arguments: str, stderr: int | None = None) -> int:
        """Return how a process of its own ends that does *script* before what is typed."""
        code = f"{script}\nfrom glasswarden.cli.main import main\nmain()"
        words = [sys.executable, "-c", code, "ledger", "fsck", *arguments]
        ended = subprocess.run(words, check=False, stderr=stderr, stdout=subprocess.DEVNULL)
        return ended.returncode

    @pytest.mark.usefixtures("chains")
    def test_progress_is_printed_on_a_terminal(self, address: str) -> None:
        seen, terminal = os.openpty()
        script = "from glasswarden.cli.ledger import fsck; fsck.EVERY_SECONDS = 0"
        assert self.run(script, "--ledger", address, stderr=terminal) == 0
        told = os.read(seen, 10_000).decode()
        assert "302 records in 1 of 3 chains, " in told
        assert "906 records in 3 of 3 chains, " in told
        assert told.endswith("\r\x1b[K")  # and makes room for what stays

    @pytest.mark.usefixtures("chains")
    def test_killed_run_is_resumed_from_its_saved_state(self, address: str, tmp_path: Path) -> None:
        state = str(tmp_path / "state")
        assert self.run(KILLED, "--ledger", address, "--resume", state) == -signal.SIGKILL
        Intruder(address).run("DELETE FROM record WHERE writer = 'two' AND sequence = 5")
        result = ledger_command(address, "fsck", "--resume", state)
        assert result.exit_code == 1
        assert "removed: two#5: " in result.stdout
        # The last record of the chain that was read, and the others: all of one, and what is left.
        assert f"{1 + 302 + 301} records in 3 chains" in result.stdout


KILLED = """
import os, signal
from glasswarden.cli.ledger import fsck
fsck.SAVE_SECONDS = 0
save = fsck.Saver.save
def killed(saver, tally):
    save(saver, tally)
    if tally.done == 1:
        os.kill(os.getpid(), signal.SIGKILL)
fsck.Saver.save = killed
"""


class TestFsckCannotRun:
    def test_missing_ledger_is_an_error_and_is_not_created(
        self, address: str, tmp_path: Path
    ) -> None:
        result = ledger_command(address, "fsck")
        assert result.exit_code == 2
        assert "there is no ledger" in result.stderr
        assert not (tmp_path / "ledger.db").exists()

    def test_file_that_is_no_ledger_is_an_error(self, address: str, tmp_path: Path) -> None:
        (tmp_path / "ledger.db").write_text("something else " * 100)
        assert ledger_command(address, "fsck").exit_code == 2

    @pytest.mark.usefixtures("ledger")
    def test_invalid_state_file_is_an_error(self, address: str, tmp_path: Path) -> None:
        (tmp_path / "state").write_text("{")
        result = ledger_command(address, "fsck", "--resume", str(tmp_path / "state"))
        assert result.exit_code == 2

    @pytest.mark.usefixtures("ledger")
    def test_since_with_resume_is_an_error(self, address: str, tmp_path: Path) -> None:
        result = ledger_command(address, "fsck", "--since", "2d", "--resume", str(tmp_path / "s"))
        assert result.exit_code == 2
        assert "would forget the rest" in result.stderr

    @pytest.mark.usefixtures("ledger")
    @pytest.mark.parametrize("content", ["", "garbage\n" * 5, '{"kind":"Event"}\n'])
    def test_audit_log_without_events_is_an_error(
        self, address: str, tmp_path: Path, content: str
    ) -> None:
        """To call that clean would say that the log was compared."""
        (tmp_path / "audit.log").write_text(content)
        result = ledger_command(address, "fsck", "--audit-log", str(tmp_path / "audit.log"))
        assert result.exit_code == 2
        assert "the audit log has no finished request to compare with" in result.stderr

    @pytest.mark.parametrize("since", ["2", "d", "yesterday", "2026-13-01"])
    def test_invalid_time_is_an_error(self, address: str, since: str) -> None:
        result = ledger_command(address, "fsck", "--since", since)
        assert result.exit_code == 2
        assert "try 2h, 7d" in result.stderr


@pytest.mark.usefixtures("ledger")
class TestPrune:
    def test_prune_dry_run_removes_nothing(self, address: str, ledger: Ledger) -> None:
        result = ledger_command(address, "prune", "--older-than", "5d", "--dry-run")
        assert result.stdout == (
            "one: 7 records through 7 would be cut\n7 records would be removed\n"
        )
        assert len(list(ledger.rows("one"))) == 12

    def test_prune_removes_old_records(self, address: str, ledger: Ledger) -> None:
        result = ledger_command(address, "prune", "--older-than", "5d")
        assert result.exit_code == 0
        assert result.stdout == "one: 7 records through 7 cut\n7 records pruned\n"
        assert len(list(ledger.rows("one"))) == 5
        assert ledger_command(address, "fsck").exit_code == 0

    def test_prune_keeps_a_chain_that_does_not_verify(self, address: str) -> None:
        Intruder(address).run("UPDATE record SET actor = 'outsider' WHERE sequence = 2")
        result = ledger_command(address, "prune", "--older-than", "5d")
        assert result.exit_code == 1
        assert "not pruned: column-mismatch: one#2" in result.stderr
        assert result.stdout == "0 records pruned\n"

    def test_prune_keeps_a_chain_of_an_untrusted_key(self, address: str, ledger: Ledger) -> None:
        Writer(ledger, "two", STRANGER, NOW - 20 * DAY).writes(an_attempt(time=NOW - 20 * DAY))
        for options in ([], ["--dry-run"]):
            result = ledger_command(address, "prune", "--older-than", "15d", *options)
            assert result.exit_code == 1
            assert "not pruned: forged: two#1" in result.stderr
        both = [open_signer(keys_beside(address)).public_key, STRANGER.public_key]
        options = [word for key in both for word in ("--public-key", key)]
        result = ledger_command(address, "prune", "--older-than", "15d", *options)
        assert result.exit_code == 0
        assert list(ledger.rows("two")) == []

    def test_prune_without_a_key_removes_nothing(
        self, address: str, tmp_path: Path, ledger: Ledger
    ) -> None:
        result = ledger_command(
            address, "prune", "--older-than", "5d", "--keys", str(tmp_path / "none")
        )
        assert result.exit_code == 1
        assert "ledger-signing.pem" in result.stderr
        assert len(list(ledger.rows("one"))) == 12


@pytest.mark.usefixtures("ledger")
class TestHold:
    def test_hold_is_added_listed_respected_and_removed(self, address: str) -> None:
        added = ledger_command(address, "hold", "add", "INC-1", "--by", "lead", "--why", "lawsuit")
        assert added.stdout == "INC-1 is held\n"
        listed = ledger_command(address, "hold", "list").stdout
        assert listed.startswith("INC-1\t")
        assert listed.endswith("\tlead\tlawsuit\n")
        pruned = ledger_command(address, "prune", "--older-than", "5d")
        assert pruned.stdout.startswith("one: 1 record through 7 cut, 6 kept\n")
        removed = ledger_command(
            address, "hold", "remove", "INC-1", "--by", "lead", "--why", "settled"
        )
        assert removed.stdout == "INC-1 is no longer held\n"
        assert ledger_command(address, "fsck").exit_code == 0

    def test_second_hold_on_a_ticket_is_reported(self, address: str) -> None:
        for expected in ("INC-1 is held\n", "INC-1 is already held\n"):
            result = ledger_command(address, "hold", "add", "INC-1", "--why", "lawsuit")
            assert (result.exit_code, result.stdout) == (0, expected)

    def test_removal_of_an_unknown_hold_is_an_error(self, address: str) -> None:
        result = ledger_command(address, "hold", "remove", "INC-2", "--why", "settled")
        assert result.exit_code == 1
        assert "INC-2 is not held" in result.stderr


@pytest.mark.usefixtures("ledger")
class TestTransfer:
    def test_export_and_import_keep_every_byte(self, address: str, tmp_path: Path) -> None:
        file, other = tmp_path / "ledger.jsonl", f"sqlite://{tmp_path}/other.db"
        assert ledger_command(address, "export", "-o", str(file)).exit_code == 0
        result = ledger_command(other, "import", str(file))
        assert (result.exit_code, result.stdout) == (0, "12 records read and stored\n")
        assert ledger_command(other, "export").stdout_bytes == file.read_bytes()
        assert ledger_command(other, "fsck").exit_code == 0

    def test_import_reads_standard_input(self, address: str, tmp_path: Path) -> None:
        lines = ledger_command(address, "export").stdout_bytes
        result = ledger_command(f"sqlite://{tmp_path}/o.db", "import", "-", stdin=lines)
        assert result.stdout == "12 records read and stored\n"

    def test_export_can_be_limited_by_time_and_ticket(self, address: str) -> None:
        assert len(ledger_command(address, "export", "--since", "60h").stdout.splitlines()) == 3
        assert ledger_command(address, "export", "--ticket", "INC-9").stdout == ""

    def test_import_rejects_an_edited_line(self, address: str, tmp_path: Path) -> None:
        lines = ledger_command(address, "export").stdout_bytes.replace(
            b"kubectl-edit", b"kubectl-else", 1
        )
        result = ledger_command(f"sqlite://{tmp_path}/o.db", "import", "-", stdin=lines)
        assert result.exit_code == 1
        assert "line 2: record" in result.stderr

    def test_import_with_keep_going_stores_lines_after_a_damaged_one(
        self, address: str, tmp_path: Path
    ) -> None:
        """A spool that a broken disk left: what can be read is stored, and the rest is named."""
        lines = ledger_command(address, "export").stdout_bytes.splitlines(keepends=True)
        lines[3], lines[7] = b"garbage\n", lines[7].replace(b"kubectl-edit", b"kubectl-else")
        other = f"sqlite://{tmp_path}/o.db"
        result = ledger_command(other, "import", "-", "--keep-going", stdin=b"".join(lines))
        assert result.exit_code == 1
        assert result.stdout == "10 records read and stored\n"
        assert "rejected: line 4: not a record's line" in result.stderr
        assert "rejected: line 8: record" in result.stderr
        assert result.stderr.endswith("2 lines rejected\n")
        found = ledger_command(other, "fsck", "--quiet").stdout.splitlines()
        assert found == [
            "removed: one#4: the record at 4 was removed",
            "removed: one#8: the record at 8 was removed",
        ]

    def test_import_rejects_a_line_with_a_used_sequence_number(
        self, address: str, ledger: Ledger, tmp_path: Path
    ) -> None:
        lines = ledger_command(address, "export").stdout_bytes
        other = f"sqlite://{tmp_path}/o.db"
        first, *_ = ledger.rows("one")
        with closing(open_ledger(other)) as copy:
            copy.append([seal(an_attempt(), "one", 2, first.digest)])
        result = ledger_command(other, "import", "-", "--keep-going", stdin=lines)
        assert result.exit_code == 1
        assert result.stdout == "11 records read and stored\n"
        assert "rejected: line 2: another record is at 2" in result.stderr

    @pytest.mark.parametrize(
        "damage",
        [
            "body = x'00'",
            "digest = x'00'",
            "signature = '\"'",
            "signature = CAST(x'ff' AS TEXT)",
        ],
    )
    def test_export_reports_a_damaged_record(self, address: str, damage: str) -> None:
        whole = ledger_command(address, "export").stdout_bytes.splitlines()
        Intruder(address).run(f"UPDATE record SET {damage} WHERE sequence = 3")  # noqa: S608
        result = ledger_command(address, "export")
        assert result.exit_code == 1
        assert result.stdout_bytes.splitlines() == whole[:2] + whole[3:]
        assert "not exported: one#3: " in result.stderr

    def test_import_of_a_missing_file_is_an_error(self, address: str, tmp_path: Path) -> None:
        result = ledger_command(address, "import", str(tmp_path / "none"))
        assert result.exit_code == 1
        assert "No such file" in result.stderr
