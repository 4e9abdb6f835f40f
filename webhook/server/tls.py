"""The TLS side of the listening socket, and its renewal without a restart."""

import asyncio
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog
from cryptography import x509

POLL_SECONDS = 1.0
EXPIRY_SECONDS = 60.0

SHOWN: Final = "glasswarden.io/certificate-shown"
"""In an ASGI scope: whether the caller showed a certificate; the handshake has verified it."""

log = structlog.get_logger()


class CertificateUnusable(Exception):
    """The serving certificate or its key cannot be loaded; mend the files."""


def new_context(
    certificate: Path, key: Path, client_authority: Path | None = None
) -> ssl.SSLContext:
    """Return a server's context with *certificate*, for TLS 1.2 and later.

    With *client_authority*, a caller is asked for a certificate, and one of another authority ends
    the handshake. Who shows none gets past it: probes and Prometheus have none to show.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
        if client_authority is not None:
            context.load_verify_locations(client_authority)
            context.verify_mode = ssl.CERT_OPTIONAL
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(str(file) for file in (certificate, key, client_authority) if file)
        raise CertificateUnusable(f"{files}: {error}") from error
    return context


def expiry_of(certificate: Path) -> float:
    """Return when the serving certificate in the file stops being valid, in seconds since 1970."""
    try:
        loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    except (OSError, ValueError) as error:
        raise CertificateUnusable(f"{certificate}: {error}") from error
    return loaded.not_valid_after_utc.timestamp()


async def renew(
    context: ssl.SSLContext, certificate: Path, key: Path, taken: Callable[[], None]
) -> None:
    """Load the files into *context* whenever they change, for as long as the process lives.

    A context that is in use takes the new pair for every later handshake; connections that stand
    keep theirs, so nothing is dropped. *taken* is called after each time.
    """
    seen = _state(certificate, key)
    while True:
        await asyncio.sleep(POLL_SECONDS)
        now = _state(certificate, key)
        if now == seen:
            continue
        try:
            # Tried on a context of its own first: a half-written pair must not spoil the live one.
            new_context(certificate, key)
            context.load_cert_chain(certificate, key)
            taken()
        except (CertificateUnusable, OSError, ssl.SSLError) as error:
            log.warning("certificate not renewed", reason=str(error))
            continue
        except Exception as error:  # noqa: BLE001 - the outermost edge of the task
            # Whatever these files do to us, the next ones must be read.
            log.warning("certificate not renewed", reason=type(error).__name__)
            continue
        seen = now
        log.info("certificate renewed", certificate=str(certificate))


async def tell_expiry(certificate: Path) -> None:
    """Say that the certificate has expired, every minute: the API server trusts it no longer."""
    while True:
        with suppress(CertificateUnusable):
            expires = expiry_of(certificate)
            if time.time() > expires:
                since = datetime.fromtimestamp(expires, UTC).isoformat()
                log.error("certificate expired", certificate=str(certificate), since=since)
        await asyncio.sleep(EXPIRY_SECONDS)


def _state(*files: Path) -> tuple[tuple[int, int] | None, ...]:
    """Return what changes when a file is replaced: its inode and time, or nothing if it is gone."""
    return tuple(_stat(file) for file in files)


def _stat(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
