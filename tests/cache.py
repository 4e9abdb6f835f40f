"""What the tests build or download once a machine: where it is kept, and how packages get there.

The cache is outside the clone, so that a fresh clone finds it. Each entry is named by what it was
made from, appears whole or not at all, and is never changed afterwards: it may always be deleted.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

REQUIREMENTS: Final = Path(__file__).resolve().parent.parent / "requirements"


class PackageOutOfReach(Exception):
    """pip could not install a locked package; the message says why and what to do."""


def cache_folder() -> Path:
    """Return `$GLASSWARDEN_CACHE`, or the folder for it that the user's desktop settings imply."""
    if chosen := os.environ.get("GLASSWARDEN_CACHE"):
        return Path(chosen)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "glasswarden"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold *folder* alone among all processes of this machine; others wait."""
    folder.mkdir(parents=True, exist_ok=True)
    # The lock is the kernel's and ends with its holder, so a killed build blocks nobody.
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stderr.write(f"Waiting for another process that works on {folder}\n")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def digest(*parts: bytes) -> str:
    """Return a short name for exactly these *parts* on this kind of machine."""
    whole = hashlib.sha256()
    for part in (*parts, sys.platform.encode(), platform.machine().encode()):
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()[:16]


def install(name: str) -> Path:
    """Return the folder with the packages of `requirements/NAME.lock`, installed if need be."""
    lock = REQUIREMENTS / f"{name}.lock"
    version = f"{sys.version_info.major}.{sys.version_info.minor}".encode()
    packages = cache_folder() / "packages"
    target = packages / f"{name}-{digest(lock.read_bytes(), version)}"
    with locked(packages):
        if not target.exists():
            sys.stderr.write(f"Installing {name} from the package index into {target}\n")
            with tempfile.TemporaryDirectory(dir=packages) as unfinished:
                _pip_install(lock, Path(unfinished) / "packages")
                shutil.move(Path(unfinished) / "packages", target)
    return target


def _pip_install(lock: Path, target: Path) -> None:
    arguments = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *arguments, "--target", target, "-r", lock],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise PackageOutOfReach(
            f"pip could not install {lock.name}: is the package index within reach, "
            f"and is there room on the disk of {target.parent}?\n{done.stdout[-2000:]}"
        )
