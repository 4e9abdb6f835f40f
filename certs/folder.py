"""Certificates in a folder, for a webhook beside it.

Beside them lies the caller token. The API server proves itself to no webhook unless an
administrator sets that up, so by default it is known by the path that it was told to call.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from certs import files
from certs.files import SECRET_FILES, files_of, new_caller_token, parse_state
from certs.rotation import State, Timing, first_state

_OWNERS_ALONE = 0o600
_READABLE = 0o644


@dataclass(frozen=True, slots=True)
class Folder:
    """Where the files of a serving certificate lie."""

    path: Path

    @property
    def authority(self) -> Path:
        """The trusted authorities: what `caBundle` holds."""
        return self.path / files.AUTHORITIES

    @property
    def certificate(self) -> Path:
        """The serving certificate."""
        return self.path / files.CERTIFICATE

    @property
    def key(self) -> Path:
        """The serving certificate's private key, readable by its owner alone."""
        return self.path / files.KEY

    @property
    def caller_token(self) -> Path:
        """The secret part of the path that the API server calls."""
        return self.path / files.CALLER_TOKEN

    @property
    def place(self) -> str:
        """How messages call it."""
        return str(self.path)

    def read(self) -> State | None:
        """Return the rotation that is kept here, if any. Raises `StateUnreadable`."""
        if not self.certificate.exists():
            return None
        found = (self.path / name for name in files.ALL)
        return parse_state({each.name: each.read_bytes() for each in found if each.exists()})

    def read_caller_token(self) -> str:
        """Return the secret part of the path that the API server calls."""
        return self.caller_token.read_text().strip()

    def write(self, state: State) -> None:
        """Keep *state* here; a caller token that is there stays: configurations contain it."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.caller_token.exists():
            self._replace(files.CALLER_TOKEN, new_caller_token())
        contents = files_of(state)
        for name, content in contents.items():
            self._replace(name, content)
        for name in {files.NEXT_CERTIFICATE, files.NEXT_KEY} - contents.keys():
            (self.path / name).unlink(missing_ok=True)

    def _replace(self, name: str, content: bytes) -> None:
        """Write a file so that a reader sees the old one or the new one, never half of either."""
        path, temporary = self.path / name, self.path / f".{name}.{os.getpid()}"
        mode = _OWNERS_ALONE if name in SECRET_FILES else _READABLE
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


def issue_into(
    path: Path, hosts: Sequence[str], now: datetime, timing: Timing | None = None
) -> Folder:
    """Make an authority and a serving certificate for *hosts*, and write them into *path*."""
    folder = Folder(path)
    folder.write(first_state(hosts, now, timing or Timing()))
    return folder
