"""Programs whose clock is wrong by what a file says, as the whole process sees it."""

import shutil
import subprocess
from pathlib import Path

import pytest


def clock_in(folder: Path) -> dict[str, str]:
    """Return the environment of programs whose clock is off by what `clock` in *folder* says."""
    if shutil.which("cc") is None:
        pytest.skip("NOT TESTED: no C compiler on this machine; `make extras` installs one")
    library = folder / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)
    (folder / "clock").write_text("0")
    return {"LD_PRELOAD": str(library), "CLOCK_FILE": str(folder / "clock")}
