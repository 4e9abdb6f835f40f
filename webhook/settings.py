"""The webhook's settings: read once, at the composition root, and never changed."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """What the webhook is told from outside."""

    bind: str
    """HOST:PORT to listen on. The API server must reach it; nobody else needs to."""

    certificate: Path
    """PEM file of the serving certificate; read again when it changes."""

    key: Path
    """PEM file of its private key."""

    caller_token: str
    """What the path of a genuine call ends with; only the webhook configuration holds it."""

    ledger: str
    """Address of the ledger, `sqlite:///PATH`. Without it no write is answered."""

    policy: Path | None = None
    """File with the rules; read again when it changes. Without it the built-in rules serve."""

    keys: Path | None = None
    """Folder with the keys that grants are signed with; read again when it changes. Without it
    nobody can break the glass."""

    kubeconfig: Path | None = None
    """How to reach the API server from outside the cluster; inside, the service account serves."""

    client_authority: Path | None = None
    """PEM file of the authority that callers need a certificate of; none asks for no certificate.
    With it, probes that cannot show one must be of the TCP kind."""

    workers: int = 1
    """Processes that answer reviews; each has its own chain in the ledger."""
