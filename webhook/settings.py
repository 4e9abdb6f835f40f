"""The settings of the webhook: read once, at the composition root, and never changed."""

from dataclasses import dataclass
from pathlib import Path

from glasswarden.cluster.kubeconfig import CURRENT, Choice


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings, as the command line and the environment provide them."""

    bind: str
    """HOST:PORT to listen on. Only the API server must reach it."""

    certificate: Path
    """PEM file of the serving certificate; reloaded when it changes."""

    key: Path
    """PEM file of its private key."""

    caller_token: str
    """Last segment of the path that the API server calls; only the registration contains it."""

    ledger: str
    """Address of the ledger, `sqlite:///PATH` or `postgresql://…`. Without it, the webhook does not
    start."""

    keys: Path
    """Folder with the keys that sign checkpoints, mask values and sign grants. Keys of grants are
    reloaded when they change; without one, nobody can use break-glass."""

    makes_keys: bool = False
    """Whether missing keys are created. Not for several replicas: each would create its own."""

    spool: Path | None = None
    """Folder where records wait while the ledger is unavailable; it must outlive the process.
    Without it, the policy's outage rules apply to a write that cannot be recorded at once."""

    spool_bytes: int = 64_000_000
    """Maximum size of the spool of one process, in bytes."""

    policy: Path | None = None
    """Policy file; reloaded when it changes. Without it, the built-in rules apply."""

    logging: Path | None = None
    """File with the log level and sampling; reloaded when it changes, and may be missing."""

    kubeconfig: Path | None = None
    """Access to the API server from outside the cluster. Inside, the service account is used."""

    choice: Choice = CURRENT
    """What to take from the kubeconfig, and whom to impersonate."""

    events: bool = True
    """Whether grants, their use and denials are published as Kubernetes Events, if the webhook has
    access to the API server."""

    client_authority: Path | None = None
    """PEM file of the authority that must have signed the certificate of a caller of reviews.
    Without it, no certificate is required. Probes and `/metrics` never require one."""

    fast_http: bool = True
    """Whether the fast HTTP path answers the reviews that it parses; else gunicorn's HTTP parser
    serves every request. The answers are the same, but each takes longer."""

    workers: int = 1
    """Processes that answer reviews; each has its own chain in the ledger."""
