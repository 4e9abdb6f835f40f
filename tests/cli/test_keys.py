"""`glasswarden keys`."""

from pathlib import Path

from glasswarden.keys.folder import find_key_files
from tests.cli.test_main import run, run_program


def test_rotate_makes_the_first_key_and_the_next(tmp_path: Path) -> None:
    first = run("keys", "rotate", "--dir", str(tmp_path))
    assert "signs from" in first.stdout
    assert run("keys", "rotate", "--dir", str(tmp_path)).returncode == 0
    assert len(find_key_files(tmp_path, "grant")) == 2


def test_rotate_rejects_an_invalid_duration(tmp_path: Path) -> None:
    result = run("keys", "rotate", "--dir", str(tmp_path), "--keep", "long")
    assert result.returncode == 2
    assert "'long' is not a duration such as 30m" in result.stderr
    assert find_key_files(tmp_path, "grant") == []


def test_webhook_reports_a_broken_key(tmp_path: Path) -> None:
    run("certs", "issue", "--dir", str(tmp_path), "--host", "localhost")
    (tmp_path / "grant-20260101T000000Z.key").write_text("torn")
    result = run_program(
        "webhook", "--certs", str(tmp_path), "--ledger", f"sqlite://{tmp_path}/l.db",
        "--keys", str(tmp_path), "--bind", "127.0.0.1:0",
    )  # fmt: skip
    assert result.returncode == 1
    assert "grant-20260101T000000Z.key" in result.stderr
    assert "Traceback" not in result.stderr


def test_make_creates_missing_keys_and_keeps_existing_ones(tmp_path: Path) -> None:
    made = run("keys", "make", "--dir", str(tmp_path / "keys"))
    assert made.returncode == 0, made.stderr
    before = {file: file.read_bytes() for file in (tmp_path / "keys").iterdir()}
    assert sorted(file.name.partition("-2")[0] for file in before) == [
        "grant",
        "ledger-mask",
        "ledger-signing.pem",
    ]
    assert run("keys", "make", "--dir", str(tmp_path / "keys")).returncode == 0
    assert {file: file.read_bytes() for file in (tmp_path / "keys").iterdir()} == before
