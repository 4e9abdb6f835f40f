"""The files of a rotation: in a folder beside the webhook, or in a Secret that its pods mount.

They have the names of a mounted Kubernetes TLS Secret, so the webhook reads both alike. The keys of
the authorities are not stored: an authority signs one certificate, and its key is discarded.

The caller token is stored with them. By default, the API server does not authenticate to a webhook,
so it is recognised by the secret path that it calls.
"""

import base64
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography import x509

from certs.authority import is_issued_by, parse_pair
from certs.rotation import State, Timing, first_state
from glasswarden.cluster.client import ApiServer
from glasswarden.kube.objects import Object

AUTHORITIES: Final = "ca.crt"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
NEXT_CERTIFICATE: Final = "next.crt"
NEXT_KEY: Final = "next.key"
PROGRESS: Final = "rotation.json"
CALLER_TOKEN: Final = "caller-token"  # noqa: S105 - a name

ALL: Final = (AUTHORITIES, CERTIFICATE, KEY, NEXT_CERTIFICATE, NEXT_KEY, PROGRESS, CALLER_TOKEN)
SECRET_FILES: Final = frozenset({KEY, NEXT_KEY, CALLER_TOKEN})

Files = Mapping[str, bytes]


class StateUnreadable(Exception):
    """The stored files are not a usable rotation; issue new certificates."""


def files_of(state: State) -> dict[str, bytes]:
    """Return *state* as files, in the order to write them.

    The authorities come first and the served certificate after its key: a server that watches for
    the certificate finds the key that belongs to it.
    """
    progress = {
        "servedSince": state.served_since.isoformat(),
        "publishedSince": state.published_since.isoformat() if state.published_since else None,
    }
    files = {AUTHORITIES: state.bundle, PROGRESS: json.dumps(progress).encode()}
    if state.coming is not None:
        files |= {NEXT_KEY: state.coming.key_pem, NEXT_CERTIFICATE: state.coming.certificate_pem}
    return files | {KEY: state.serving.key_pem, CERTIFICATE: state.serving.certificate_pem}


def parse_state(files: Files) -> State:
    """Return the state in *files*. Raises `StateUnreadable`."""
    try:
        state = _parse_files(files)
    except (KeyError, ValueError, TypeError) as error:
        raise StateUnreadable(f"not the files of a serving certificate: {error}") from error
    for pair in filter(None, (state.serving, state.coming)):
        if not any(is_issued_by(pair.certificate, each) for each in state.authorities):
            raise StateUnreadable(f"{AUTHORITIES} contains no authority of the certificate")
    return state


def new_caller_token() -> bytes:
    """Return the secret part of the path that the API server will call."""
    return secrets.token_hex(16).encode()


def _parse_files(files: Files) -> State:
    serving = parse_pair(files[CERTIFICATE], files[KEY])
    progress = json.loads(files.get(PROGRESS, b"{}"))
    since = _parse_time(progress.get("servedSince"))
    return State(
        tuple(x509.load_pem_x509_certificates(files[AUTHORITIES])),
        serving,
        # A pair that was stored by hand has been served since it became valid.
        served_since=since or serving.certificate.not_valid_before_utc,
        coming=parse_pair(files[NEXT_CERTIFICATE], files[NEXT_KEY])
        if NEXT_CERTIFICATE in files
        else None,
        published_since=_parse_time(progress.get("publishedSince")),
    )


def _parse_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


_OWNER_ONLY = 0o600
_READABLE = 0o644


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with the files of a serving certificate."""

    path: Path

    @property
    def authority(self) -> Path:
        """The trusted authorities, which `caBundle` contains."""
        return self.path / AUTHORITIES

    @property
    def certificate(self) -> Path:
        """The serving certificate."""
        return self.path / CERTIFICATE

    @property
    def key(self) -> Path:
        """The serving certificate's private key, readable only by its owner."""
        return self.path / KEY

    @property
    def caller_token(self) -> Path:
        """The secret part of the path that the API server calls."""
        return self.path / CALLER_TOKEN

    @property
    def location(self) -> str:
        """Its name in messages."""
        return str(self.path)

    def read(self) -> State | None:
        """Return the stored rotation, if any. Raises `StateUnreadable`."""
        if not self.certificate.exists():
            return None
        found = (self.path / name for name in ALL)
        return parse_state({each.name: each.read_bytes() for each in found if each.exists()})

    def read_caller_token(self) -> str:
        """Return the secret part of the path that the API server calls."""
        return self.caller_token.read_text().strip()

    def write(self, state: State) -> None:
        """Store *state* here; an existing caller token remains: configurations contain it."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.caller_token.exists():
            self._replace(CALLER_TOKEN, new_caller_token())
        contents = files_of(state)
        for name, content in contents.items():
            self._replace(name, content)
        for name in {NEXT_CERTIFICATE, NEXT_KEY} - contents.keys():
            (self.path / name).unlink(missing_ok=True)

    def _replace(self, name: str, content: bytes) -> None:
        """Write a file atomically: a reader sees either the old or the new content."""
        path, temporary = self.path / name, self.path / f".{name}.{os.getpid()}"
        mode = _OWNER_ONLY if name in SECRET_FILES else _READABLE
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


def issue_into(
    path: Path, hosts: Sequence[str], now: datetime, timing: Timing | None = None
) -> Folder:
    """Create an authority and a serving certificate for *hosts*, and write them into *path*."""
    folder = Folder(path)
    folder.write(first_state(hosts, now, timing or Timing()))
    return folder


_LABELS: Final = {"app.kubernetes.io/name": "glasswarden"}


@dataclass(slots=True)
class Secret:
    """One Secret; it is written only if it has not changed since it was read."""

    server: ApiServer
    namespace: str
    name: str
    _seen: Object | None = field(default=None, init=False)

    @property
    def location(self) -> str:
        """Its name in messages."""
        return f"Secret {self.namespace}/{self.name}"

    def read(self) -> State | None:
        """Return the rotation that is kept here, if any. Raises `StateUnreadable`."""
        self._seen = self.server.get_or_none(f"{self._collection}/{self.name}")
        data = self._decode_data()
        # `kubectl create secret generic` and a GitOps placeholder leave one without content.
        return parse_state(data) if data.keys() - {CALLER_TOKEN} else None

    def read_caller_token(self) -> str:
        """Return the secret part of the path that the API server calls; empty before `write`."""
        self._seen = self.server.get_or_none(f"{self._collection}/{self.name}")
        return self._decode_data().get(CALLER_TOKEN, b"").decode()

    def is_cert_managers(self) -> bool:
        """Return whether cert-manager maintains the Secret that was read last."""
        annotations = (self._seen or {}).get("metadata", {}).get("annotations") or {}
        return "cert-manager.io/certificate-name" in annotations

    def write(self, state: State) -> None:
        """Store *state* here. Raises `ObjectChanged` if the Secret changed since it was read."""
        token = self._decode_data().get(CALLER_TOKEN) or new_caller_token()
        contents = {CALLER_TOKEN: token, **files_of(state)}
        data = {name: base64.b64encode(content).decode() for name, content in contents.items()}
        if self._seen is None:
            metadata = {"name": self.name, "namespace": self.namespace, "labels": _LABELS}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
            self._seen = self.server.create(self._collection, secret)
        else:
            path = f"{self._collection}/{self.name}"
            self._seen = self.server.replace(path, self._seen | {"data": data})

    @property
    def _collection(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets"

    def _decode_data(self) -> dict[str, bytes]:
        data = (self._seen or {}).get("data") or {}
        return {name: base64.b64decode(content) for name, content in data.items()}
