"""The command, as its user types it."""

import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from glasswarden import __version__
from glasswarden.cli.main import COMMANDS, main
from glasswarden.ledger.sqlite.file import APPLICATION

SCRIPTS = Path(sys.executable).parent


def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, which saves the start of another one."""
    done = CliRunner().invoke(
        main, arguments, input=stdin, prog_name="glasswarden", catch_exceptions=False
    )
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def run_program(
    *arguments: str, program: str = "glasswarden", stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command as its user does, in a process of its own."""
    return subprocess.run(
        [SCRIPTS / program, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("program", ["glasswarden", "kubectl-glasswarden"])
def test_program_is_installed_as_command_and_kubectl_plugin(program: str) -> None:
    assert (
        run_program("--version", program=program).stdout == f"glasswarden, version {__version__}\n"
    )


def test_help_lists_every_command_with_a_summary() -> None:
    lines = run_program("--help").stdout.splitlines()
    for command in COMMANDS:
        [line] = [line for line in lines if line.startswith(f"  {command} ")]
        assert len(line.split()) > 3


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    helped = run(command, "--help")
    assert helped.returncode == 0
    assert helped.stdout.startswith(f"Usage: glasswarden {command}")


def test_short_help_option_works_below_a_group() -> None:
    # In a process of its own: click remembers the options of the first context that it sees.
    assert run_program("keys", "rotate", "-h").stdout.startswith("Usage: glasswarden keys rotate")


def test_unknown_command_is_a_usage_error() -> None:
    result = run_program("wehbook")
    assert result.returncode == 2
    assert "No such command 'wehbook'" in result.stderr


def test_webhook_without_a_certificate_reports_how_to_issue_one(tmp_path: Path) -> None:
    result = run_program(
        "webhook", "--certs", str(tmp_path), "--ledger", f"sqlite://{tmp_path}/l.db"
    )
    assert result.returncode == 1
    assert "glasswarden certs issue --dir" in result.stderr
    assert "Traceback" not in result.stderr


def test_webhook_reports_a_port_in_use(tmp_path: Path) -> None:
    run("certs", "issue", "--dir", str(tmp_path), "--host", "localhost")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = run_program(
            "webhook", "--bind", address, "--certs", str(tmp_path),
            "--ledger", f"sqlite://{tmp_path}/l.db",
        )  # fmt: skip
    assert result.returncode == 1
    assert f"cannot listen on {address}" in result.stderr
    assert "--bind" in result.stderr


def test_webhook_does_not_start_with_ledger_tables_of_another_version(tmp_path: Path) -> None:
    run("certs", "issue", "--dir", str(tmp_path), "--host", "localhost")
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as database:
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute("PRAGMA user_version = 99")
    result = run_program(
        "webhook", "--bind", "127.0.0.1:0", "--certs", str(tmp_path),
        "--ledger", f"sqlite://{tmp_path}/ledger.db",
    )  # fmt: skip
    assert result.returncode != 0
    assert "ledger.db has tables of version 99" in result.stderr


def test_manifests_need_an_existing_authority_file(tmp_path: Path) -> None:
    result = run("manifests", "webhooks", "--url", "https://x", "--certs", str(tmp_path / "none"))
    assert result.returncode == 1
    assert "No such file" in result.stderr


def test_certificates_cannot_be_issued_into_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run("certs", "issue", "--dir", str(tmp_path / "file" / "x"), "--host", "localhost")
    assert result.returncode == 1
    assert "no certificate was issued" in result.stderr
