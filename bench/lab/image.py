"""The product with the packages of its image, and no others.

An environment for development has packages that change what a process holds: structlog loads `rich`
and `greenlet` wherever it finds them.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
LOCK: Final = ROOT / "requirements" / "runtime.lock"


def installed(folder: Path) -> Path:
    """Return the command, installed into *folder* as the image has it."""
    _run(sys.executable, "-m", "venv", folder)
    pip = (folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*pip, "--require-hashes", "-r", LOCK)
    wheels = folder / "wheels"
    _run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        "--wheel-dir", wheels, ROOT,
    )  # fmt: skip
    _run(*pip, "--no-deps", *wheels.glob("*.whl"))
    return folder / "bin" / "glasswarden"


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)
