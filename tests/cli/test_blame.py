"""`glasswarden blame` as it is seen: in a pipe, in colour, and in a pager."""

import json
import os
import pty
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from glasswarden.cli.main import main
from glasswarden.ledger.sqlite.file import open_sqlite
from tests.correlator.attribution.builders import wrote
from tests.correlator.test_blame import IMAGE, a_deployment
from tests.ledger.builders import an_opening, records_of

PROVEN = "responder      2026-03-01 12:05  INC-42: checkout is down"
HINTED = "[kubectl-set]  2026-03-01 12:05"
YELLOW, FAINT = "\x1b[33m", "\x1b[2m"


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """Return the command, about an image that is on record and a name that is not."""
    live = tmp_path / "live"
    live.mkdir()
    web = a_deployment()
    owned = web["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]
    owned["f:containers"]['k:{"name":"app"}']["f:name"] = {}
    (live / "web.json").write_text(json.dumps(web))
    write = wrote(
        5, IMAGE, old="web:1", new="web:2", manager="kubectl-set", ticket="INC-42",
        reason="checkout is down",
    )  # fmt: skip
    with closing(open_sqlite(tmp_path / "ledger.db")) as ledger:
        ledger.append(records_of(an_opening(), write))
    ledger_at = ("--ledger", f"sqlite://{tmp_path}/ledger.db")
    return ["blame", "deploy/web", "-n", "shop", "--live", str(live), *ledger_at]


def image_line(text: str) -> str:
    return next(line for line in text.splitlines() if "image: web:2" in line)


def test_output_to_a_pipe_has_all_lines_and_no_colour(words: list[str]) -> None:
    text = CliRunner().invoke(main, words).stdout
    assert image_line(text).startswith(PROVEN)
    assert HINTED in text
    assert "\x1b" not in text


def test_colour_marks_proven_and_hinted_lines(words: list[str]) -> None:
    text = CliRunner().invoke(main, words, color=True).stdout
    assert image_line(text).startswith(f"{YELLOW}{PROVEN}")
    assert f"{FAINT}{HINTED}" in text


def test_output_to_a_terminal_uses_the_pager(words: list[str], tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\nsed "s/^/paged: /"\n')
    pager.chmod(0o755)
    ours, theirs = pty.openpty()
    environment = os.environ | {"PAGER": str(pager), "TERM": "xterm"}
    command = [sys.executable, "-m", "glasswarden", *words]
    done = subprocess.run(command, stdin=theirs, stdout=theirs, env=environment, check=False)
    os.close(theirs)
    with os.fdopen(ours, "rb") as terminal:
        seen = terminal.read1(65536).decode()
    assert done.returncode == 0
    assert "paged: " in seen
    assert PROVEN in seen


def test_declared_field_is_listed_with_its_file_in_git(words: list[str], tmp_path: Path) -> None:
    git = tmp_path / "git"
    git.mkdir()
    (git / "web.json").write_text(json.dumps({**a_deployment(), "spec": {"replicas": 8}}))
    text = CliRunner().invoke(main, [*words, "--git", str(git)]).stdout
    [replicas] = [line for line in text.splitlines() if "replicas:" in line]
    assert "web.json:1 │" in replicas
    assert "web.json" not in image_line(text)
