"""Running git, kustomize and helm: the machine's own, without a prompt, for a limited time."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from correlator.declared.errors import DeclaredUnreadable, ProgramMissing

LONGEST_SECONDS: Final = 300.0
_LAST_LINES: Final = 5

# Nobody is there to type a password into a scan.
_UNLESS_SET: Final = {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}
_ENVIRONMENT: Final = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "LC_ALL": "C.UTF-8"}


def find_program(name: str, advice: str) -> str:
    """Return where *name* is installed, or raise `ProgramMissing` with *advice*."""
    found = shutil.which(name)
    if found is None:
        raise ProgramMissing(f"{name} is not installed; {advice}")
    return found


def output_of(
    command: Sequence[str | Path],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return what *command* prints, or raise `DeclaredUnreadable` with what it complains about."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and only git, kustomize, kubectl, helm
            command,
            cwd=folder,
            env={**_UNLESS_SET, **os.environ, **_ENVIRONMENT, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
    except OSError as error:
        raise DeclaredUnreadable(f"{name} cannot be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise DeclaredUnreadable(f"{name} took longer than {LONGEST_SECONDS:.0f} s") from error
    if done.returncode != 0:
        complaint = done.stderr.decode(errors="replace").strip().splitlines()
        raise DeclaredUnreadable(f"{name} failed: {' '.join(complaint[-_LAST_LINES:])}")
    return done.stdout.decode(errors="replace")
