"""Start programs, know when they are ready, and stop them by their id.

Each program has a process group and a log file of its own, so Ctrl-C on the terminal reaches only
the test run, which then stops them in order. If the run itself is killed, the kernel ends them
(`tether`); without that help (not Linux) the interpreter's exit does. Nothing here ever looks a
process up by name.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

T = TypeVar("T")

TETHER: Final = Path(__file__).with_name("tether.py")
PATIENCE: Final = 10.0
LOOPBACK: Final = "127.0.0.1"
PORT_TAKEN: Final = ("address already in use", "Address already in use")


class ProcessFailed(Exception):
    """A program ended or was not ready in time; the message ends with its log's last lines."""


class PortTaken(ProcessFailed):
    """A program found that its port had been taken since it was chosen: choose again."""


class Process:
    """A running program."""

    def __init__(
        self, name: str, popen: subprocess.Popen[bytes], log: Path, farewell: signal.Signals
    ) -> None:
        self.name = name
        self.log = log
        self._popen = popen
        # Also called when the interpreter ends, whatever the reason it can still notice.
        self._stop = weakref.finalize(self, _stop, popen, farewell)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    def stop(self) -> None:
        """End the program if it still runs."""
        self._stop()

    def wait_until(self, ready: Callable[[], bool], *, seconds: float = 60) -> Self:
        """Poll *ready* until it holds; raise if the program ends first or the time runs out."""
        deadline = time.monotonic() + seconds
        while self.running:
            if ready():
                return self
            if time.monotonic() > deadline:
                raise ProcessFailed(f"{self.name} not ready after {seconds:.0f} s\n{self._tail()}")
            time.sleep(0.05)
        tail = self._tail()
        failure = PortTaken if any(sign in tail for sign in PORT_TAKEN) else ProcessFailed
        raise failure(f"{self.name} ended with {self._popen.returncode}\n{tail}")

    def _tail(self) -> str:
        return f"the end of {self.log}:\n{tail_of(self.log)}"


def children_of(pid: int) -> list[int]:
    """Return the processes that *pid* has started, and those that ended without being asked for."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    """Return whether *pid* runs; one that has ended and was not asked for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Processes:
    """Programs that belong together: started one after the other, stopped in reverse."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        self._logs = logs
        self._environment = dict(environment)
        self._started: list[Process] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(
        self, name: str, command: Sequence[str | Path], environment: Mapping[str, str] | None = None
    ) -> Process:
        """Start *command*, with *environment* added to that of the group."""
        process = start(
            name,
            command,
            log=self._logs / f"{name}.log",
            environment=self._environment | dict(environment or {}),
        )
        self._started.append(process)
        return process

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._started]

    def stop(self) -> None:
        """End the programs, the last one first."""
        while self._started:
            self._started.pop().stop()


def start(
    name: str,
    command: Sequence[str | Path],
    *,
    log: Path,
    environment: Mapping[str, str],
    user: str = "",
    farewell: signal.Signals = signal.SIGTERM,
) -> Process:
    """Start *command* in its own process group with its output in *log*, tied to our life.

    *user* is for programs that refuse to run as root, and needs us to be root; *farewell* is the
    signal that asks the program to end.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    tethered = [sys.executable, "-I", "-S", TETHER, str(os.getpid()), user, *command]
    with log.open("ab") as output:
        popen = subprocess.Popen(
            tethered,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            process_group=0,
        )
    return Process(name, popen, log, farewell)


def _stop(popen: subprocess.Popen[bytes], farewell: signal.Signals) -> None:
    """End the program and what it started: politely, then for certain."""
    for sign in (farewell, signal.SIGKILL):
        # Asking poll first keeps us from signalling an id that the system has since given away.
        if popen.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(popen.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            popen.wait(PATIENCE)


def free_ports(count: int) -> list[int]:
    """Return *count* different loopback ports that nobody listens on at this moment."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [one.getsockname()[1] for one in sockets]


def with_free_ports(start_on: Callable[[], T], attempts: int = 4) -> T:
    """Call *start_on*, which chooses its ports, again if somebody else was quicker to take one."""
    for _ in range(attempts - 1):
        with suppress(PortTaken):
            return start_on()
    return start_on()


def tail_of(log: Path, lines: int = 25) -> str:
    """Return the last *lines* of a log that may be missing, long, or not quite text."""
    if not log.exists():
        return "(no log)"
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 400 * lines))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
