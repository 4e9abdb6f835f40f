"""The demo tells its story with the real webhook, and leaves nothing running."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

DEMO = [sys.executable, "-m", "glasswarden", "demo"]


def test_the_story_ends_by_itself_when_asked_to(tmp_path: Path) -> None:
    told = subprocess.run(
        [*DEMO, "--dir", str(tmp_path), "--exit"], capture_output=True, text=True, check=True,
        timeout=60,
    )  # fmt: skip
    assert "is managed by Flux" in told.stdout
    assert "is managed by Argo CD" in told.stdout
    assert "What the ledger kept" in told.stdout
    assert (tmp_path / "ledger.db").exists()
    assert (tmp_path / "certs" / "ca.crt").exists()


def test_it_stays_up_until_interrupted(tmp_path: Path) -> None:
    command = [*DEMO, "--dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "Ctrl-C" in line:
                break
        assert demo.poll() is None
        os.kill(demo.pid, signal.SIGINT)
        rest = demo.stdout.read()
        assert demo.wait(30) == 0
    assert "Stopped." in rest


def test_a_taken_port_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = subprocess.run(
            [*DEMO, "--dir", str(tmp_path), "--port", port, "--exit"], capture_output=True,
            text=True, check=False, timeout=60,
        )  # fmt: skip
    assert told.returncode == 1
    assert "cannot listen on" in told.stderr
