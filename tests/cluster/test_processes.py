"""Programs start, are waited for, and end, with a message that helps when they do not."""

import os
import socket
import sys
from pathlib import Path

import pytest

from tests.cluster.probe import accepts
from tests.cluster.processes import (
    LOOPBACK,
    PortTaken,
    Process,
    ProcessFailed,
    free_ports,
    start,
    with_free_ports,
)


def python(tmp_path: Path, code: str) -> Process:
    command = [sys.executable, "-c", code]
    return start("toy", command, log=tmp_path / "toy.log", environment=dict(os.environ))


def listener(tmp_path: Path, port: int) -> Process:
    return python(tmp_path, f"import http.server as h; h.test(port={port}, bind='{LOOPBACK}')")


def test_a_program_is_waited_for_and_stopped(tmp_path: Path) -> None:
    [port] = free_ports(1)
    process = listener(tmp_path, port).wait_until(lambda: accepts(port))
    process.stop()
    assert not process.running
    assert not accepts(port)


def test_program_that_ignores_sigterm_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.cluster.processes.PATIENCE", 0.2)
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    process = python(tmp_path, f"{deaf}; time.sleep(60)")
    process.wait_until(lambda: process.log.read_text() == "1\n")
    process.stop()
    assert not process.running


def test_early_exit_is_reported_with_the_end_of_the_log(tmp_path: Path) -> None:
    process = python(tmp_path, "raise SystemExit('no such flag')")
    with pytest.raises(ProcessFailed, match=r"toy ended with 1(.|\n)*no such flag"):
        process.wait_until(lambda: False)


def test_timeout_is_reported_with_the_end_of_the_log(tmp_path: Path) -> None:
    process = python(tmp_path, "import time; print('still at it', flush=True); time.sleep(60)")
    process.wait_until(lambda: bool(process.log.read_text()))
    with pytest.raises(ProcessFailed, match=r"not ready after 0 s(.|\n)*still at it"):
        process.wait_until(lambda: False, seconds=0)
    process.stop()


def test_port_taken_in_the_meantime_is_replaced(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as quicker:
        ports = iter([quicker.getsockname()[1], *free_ports(1)])

        def start_on_the_next() -> Process:
            port = next(ports)
            process = listener(tmp_path, port)
            # Somebody else answers on the first one, so the program must be asked, not the port.
            return process.wait_until(lambda: "Serving" in process.log.read_text())

        process = with_free_ports(start_on_the_next)
        assert process.running
        process.stop()


def test_port_in_use_is_an_error(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as quicker:
        process = listener(tmp_path, quicker.getsockname()[1])
        with pytest.raises(PortTaken):
            process.wait_until(lambda: False)
