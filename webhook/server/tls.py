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

from glasswarden.reloaded import Reloaded, state_of

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

    A context that is in use takes the new pair for every later handshake; connections that are open
    keep theirs, so nothing is dropped. *taken* is called after each time.
    """

    def load(_: object) -> None:
        # Tried on a context of its own first: a half-written pair must not spoil the live one.
        new_context(certificate, key)
        context.load_cert_chain(certificate, key)
        taken()

    files = Reloaded(
        None,
        lambda: state_of(certificate, key),
        load,
        on_change=lambda _: log.info("certificate renewed", certificate=str(certificate)),
        on_error=lambda reason: log.warning("certificate not renewed", reason=reason),
        quoted=(CertificateUnusable, OSError),
    )
    files.mark_read()
    await files.follow()


async def log_expiry(certificate: Path) -> None:
    """Log every minute that the certificate has expired: the API server no longer trusts it."""
    while True:
        with suppress(CertificateUnusable):
            expires = expiry_of(certificate)
            if time.time() > expires:
                since = datetime.fromtimestamp(expires, UTC).isoformat()
                log.error("certificate expired", certificate=str(certificate), since=since)
        await asyncio.sleep(EXPIRY_SECONDS)
