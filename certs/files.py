"""The files that a rotation is kept in: keys of a Secret, or names in a folder.

Under the names that a mounted Kubernetes TLS Secret uses, so that the webhook reads both alike. The
authorities' keys are in none of them: an authority signs one certificate, and its key is forgotten.
"""

import json
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from cryptography import x509

from certs.authority import is_issued_by, parse_pair
from certs.rotation import State

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
    """What is kept there is no rotation of ours; issue anew."""


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
        state = _parse(files)
    except (KeyError, ValueError, TypeError) as error:
        raise StateUnreadable(f"not the files of a serving certificate: {error}") from error
    for pair in filter(None, (state.serving, state.coming)):
        if not any(is_issued_by(pair.certificate, each) for each in state.authorities):
            raise StateUnreadable(f"{AUTHORITIES} holds no authority of the certificate")
    return state


def new_caller_token() -> bytes:
    """Return the secret part of the path that the API server will call."""
    return secrets.token_hex(16).encode()


def _parse(files: Files) -> State:
    serving = parse_pair(files[CERTIFICATE], files[KEY])
    progress = json.loads(files.get(PROGRESS, b"{}"))
    since = _moment(progress.get("servedSince"))
    return State(
        tuple(x509.load_pem_x509_certificates(files[AUTHORITIES])),
        serving,
        # A pair that was put there by hand has been served since it became valid.
        served_since=since or serving.certificate.not_valid_before_utc,
        coming=parse_pair(files[NEXT_CERTIFICATE], files[NEXT_KEY])
        if NEXT_CERTIFICATE in files
        else None,
        published_since=_moment(progress.get("publishedSince")),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
