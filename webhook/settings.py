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

    ledger: str
    """Address of the ledger, `sqlite:///PATH`. Without it no write is answered."""

    policy: Path | None = None
    """File with the rules; read again when it changes. Without it the built-in rules serve."""

    kubeconfig: Path | None = None
    """How to reach the API server from outside the cluster; inside, the service account serves."""

    workers: int = 1
    """Processes that answer reviews; each has its own chain in the ledger."""
