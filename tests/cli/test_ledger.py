"""`glasswarden ledger`: fsck, prune, hold, export and import, as they are typed."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from glasswarden.cli.main import main
from glasswarden.ledger.address import keys_beside, open_ledger
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.signing import Signer, make_signer, open_signer
from tests.ledger.builders import an_attempt
from tests.ledger.fsck.builders import STRANGER, Intruder, Writer
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
    def test_a_clean_ledger(self, address: str, signer: Signer) -> None:
        result = ledger_command(address, "fsck", "--public-key", signer.public_key)
        assert result.exit_code == 0
        assert result.stdout == ("clean: 12 records in 1 chain (0 closed, 1 open or killed)\n")

    def test_without_a_key_it_is_said_that_nothing_was_compared(
        self, address: str, signer: Signer
    ) -> None:
        result = ledger_command(address, "fsck")
        assert result.exit_code == 0
        assert f"signed by {signer.public_key}\n" in result.stdout
        assert "No key was given" in result.stdout

    def test_a_finding_is_a_line_and_the_exit_code(self, address: str) -> None:
        Intruder(address).run("DELETE FROM record WHERE sequence = 5")
        result = ledger_command(address, "fsck", "--quiet")
        assert result.exit_code == 1
        assert result.stdout == "removed: one#5: the record at 5 was removed\n"

    def test_as_json_a_line_each(self, address: str) -> None:
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
        assert summary["summary"]["keys_checked"] is False

    def test_a_strangers_chain_is_found_by_the_key(
        self, address: str, ledger: Ledger, signer: Signer
    ) -> None:
        Writer(ledger, "two", STRANGER).writes(an_attempt())
        assert ledger_command(address, "fsck").exit_code == 0
        result = ledger_command(address, "fsck", "--public-key", signer.public_key, "--quiet")
        assert result.exit_code == 1
        assert "is not a trusted one" in result.stdout

    def test_resumed(self, address: str, ledger: Ledger, tmp_path: Path) -> None:
        state = str(tmp_path / "state")
        assert "12 records" in ledger_command(address, "fsck", "--resume", state).stdout
        assert "1 record in 1 chain" in ledger_command(address, "fsck", "--resume", state).stdout
        Writer(ledger, "two", STRANGER).writes(an_attempt())
        result = ledger_command(address, "fsck", "--resume", state)
        assert result.exit_code == 1
        assert f"its key {STRANGER.public_key} is not a trusted one" in result.stdout

    def test_since(self, address: str) -> None:
        result = ledger_command(address, "fsck", "--since", "60h")
        assert result.stdout.startswith("clean: 4 records")

    def test_with_an_audit_log(self, address: str, tmp_path: Path) -> None:
        events = [an_event(NOW - 3 * DAY - DAY / 2), an_event(NOW - DAY - DAY / 2)]
        log = as_log(tmp_path / "audit.log", [*events, "broken"])
        result = ledger_command(address, "fsck", "--audit-log", str(log))
        assert result.exit_code == 1
        assert "unwitnessed: one#9: " in result.stdout
        assert "unwitnessed: one#10: " in result.stdout
        assert result.stdout.count("unwitnessed") == 2
        assert "audit log: 2 events, 1 broken line" in result.stdout


class TestCannotLook:
    def test_there_is_no_ledger(self, address: str, tmp_path: Path) -> None:
        result = ledger_command(address, "fsck")
        assert result.exit_code == 2
        assert "there is no ledger" in result.stderr
        assert not (tmp_path / "ledger.db").exists()

    def test_it_is_no_ledger(self, address: str, tmp_path: Path) -> None:
        (tmp_path / "ledger.db").write_text("something else " * 100)
        assert ledger_command(address, "fsck").exit_code == 2

    @pytest.mark.usefixtures("ledger")
    def test_a_state_that_is_none(self, address: str, tmp_path: Path) -> None:
        (tmp_path / "state").write_text("{")
        result = ledger_command(address, "fsck", "--resume", str(tmp_path / "state"))
        assert result.exit_code == 2

    @pytest.mark.usefixtures("ledger")
    def test_since_and_resume_together(self, address: str, tmp_path: Path) -> None:
        result = ledger_command(address, "fsck", "--since", "2d", "--resume", str(tmp_path / "s"))
        assert result.exit_code == 2
        assert "would forget the rest" in result.stderr

    @pytest.mark.parametrize("since", ["2", "d", "yesterday", "2026-13-01"])
    def test_a_time_that_is_none(self, address: str, since: str) -> None:
        result = ledger_command(address, "fsck", "--since", since)
        assert result.exit_code == 2
        assert "try 2h, 7d" in result.stderr


@pytest.mark.usefixtures("ledger")
class TestPrune:
    def test_a_dry_run_first(self, address: str, ledger: Ledger) -> None:
        result = ledger_command(address, "prune", "--older-than", "5d", "--dry-run")
        assert result.stdout == ("one: 7 records through 7 would be cut\n7 records would go\n")
        assert len(list(ledger.rows("one"))) == 12

    def test_then_in_earnest(self, address: str, ledger: Ledger) -> None:
        result = ledger_command(address, "prune", "--older-than", "5d")
        assert result.exit_code == 0
        assert result.stdout == "one: 7 records through 7 cut\n7 records pruned\n"
        assert len(list(ledger.rows("one"))) == 5
        assert ledger_command(address, "fsck").exit_code == 0

    def test_what_does_not_verify_is_left_alone(self, address: str) -> None:
        Intruder(address).run("UPDATE record SET actor = 'outsider' WHERE sequence = 2")
        result = ledger_command(address, "prune", "--older-than", "5d")
        assert result.exit_code == 1
        assert "left alone: column-mismatch: one#2" in result.stderr
        assert result.stdout == "0 records pruned\n"

    def test_without_a_key_nothing_is_cut(
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
    def test_add_list_prune_and_remove(self, address: str) -> None:
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

    def test_twice(self, address: str) -> None:
        for expected in ("INC-1 is held\n", "INC-1 was held already, and still is\n"):
            result = ledger_command(address, "hold", "add", "INC-1", "--why", "lawsuit")
            assert (result.exit_code, result.stdout) == (0, expected)

    def test_what_is_not_held_cannot_be_let_go(self, address: str) -> None:
        result = ledger_command(address, "hold", "remove", "INC-2", "--why", "settled")
        assert result.exit_code == 1
        assert "INC-2 is not held" in result.stderr


@pytest.mark.usefixtures("ledger")
class TestTransfer:
    def test_there_and_back(self, address: str, tmp_path: Path) -> None:
        file, other = tmp_path / "ledger.jsonl", f"sqlite://{tmp_path}/other.db"
        assert ledger_command(address, "export", "-o", str(file)).exit_code == 0
        result = ledger_command(other, "import", str(file))
        assert (result.exit_code, result.stdout) == (0, "12 records read and stored\n")
        assert ledger_command(other, "export").stdout_bytes == file.read_bytes()
        assert ledger_command(other, "fsck").exit_code == 0

    def test_from_the_standard_input(self, address: str, tmp_path: Path) -> None:
        lines = ledger_command(address, "export").stdout_bytes
        result = ledger_command(f"sqlite://{tmp_path}/o.db", "import", "-", stdin=lines)
        assert result.stdout == "12 records read and stored\n"

    def test_a_part(self, address: str) -> None:
        assert len(ledger_command(address, "export", "--since", "60h").stdout.splitlines()) == 3
        assert ledger_command(address, "export", "--ticket", "INC-9").stdout == ""

    def test_a_line_that_was_edited(self, address: str, tmp_path: Path) -> None:
        lines = ledger_command(address, "export").stdout_bytes.replace(
            b"kubectl-edit", b"kubectl-else", 1
        )
        result = ledger_command(f"sqlite://{tmp_path}/o.db", "import", "-", stdin=lines)
        assert result.exit_code == 1
        assert "line 2: record" in result.stderr

    def test_a_file_that_is_not_there(self, address: str, tmp_path: Path) -> None:
        result = ledger_command(address, "import", str(tmp_path / "none"))
        assert result.exit_code == 1
        assert "No such file" in result.stderr
