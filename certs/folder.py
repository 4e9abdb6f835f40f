"""Certificates in a folder, under the names that a mounted Kubernetes TLS Secret uses.

The authority's key is written nowhere: who holds it can pose as the webhook for ten years, and a
folder that needs a new serving certificate can as well have a new authority.

Beside them lies the caller token. The API server proves itself to no webhook unless an
administrator sets that up, so by default it is known by the path that it was told to call.
"""

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from certs.authority import new_authority, new_serving_pair


@dataclass(frozen=True, slots=True)
class Folder:
    """Where the files of a serving certificate lie."""

    path: Path

    @property
    def authority(self) -> Path:
        """The authority's certificate: what `caBundle` holds."""
        return self.path / "ca.crt"

    @property
    def certificate(self) -> Path:
        """The serving certificate."""
        return self.path / "tls.crt"

    @property
    def key(self) -> Path:
        """The serving certificate's private key, readable by its owner alone."""
        return self.path / "tls.key"

    @property
    def caller_token(self) -> Path:
        """The secret part of the path that the API server calls."""
        return self.path / "caller-token"


def issue_into(path: Path, hosts: Sequence[str], now: datetime) -> Folder:
    """Make an authority and a serving certificate for *hosts*, and write them into *path*.

    A caller token that is there stays: webhook configurations out there contain it.
    """
    folder = Folder(path)
    path.mkdir(parents=True, exist_ok=True)
    authority = new_authority(now)
    serving = new_serving_pair(authority, hosts, now)
    if not folder.caller_token.exists():
        _replace(folder.caller_token, secrets.token_hex(16).encode(), mode=0o600)
    _replace(folder.authority, authority.certificate_pem, mode=0o644)
    _replace(folder.key, serving.key_pem, mode=0o600)
    # The certificate last: a server that watches for it finds the key that belongs to it.
    _replace(folder.certificate, serving.certificate_pem, mode=0o644)
    return folder


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Write *content* so that a reader sees the old file or the new one, never half of either."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
