"""The webhook's settings: read once, at the composition root, and never changed."""

from dataclasses import dataclass
from pathlib import Path

from glasswarden.cluster.kubeconfig import CURRENT, Choice


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
    """Address of the ledger, `sqlite:///PATH` or `postgresql://…`. Without it no write is answered.
    """

    keys: Path
    """Folder with the keys that sign checkpoints, mask values and sign grants; the last are read
    again when it changes, and without one nobody can break the glass."""

    makes_keys: bool = False
    """Whether missing keys are made: of several replicas each would make its own."""

    spool: Path | None = None
    """Folder where records wait while the ledger is away; it must outlive the process. Without it
    a write that cannot be recorded at once meets the policy's outage rules."""

    spool_bytes: int = 64_000_000
    """How much a process spools before that is full."""

    policy: Path | None = None
    """File with the rules; read again when it changes. Without it the built-in rules serve."""

    logging: Path | None = None
    """File with the log's level and samples; read again when it changes, and need not be there."""

    kubeconfig: Path | None = None
    """How to reach the API server from outside the cluster; inside, the service account serves."""

    choice: Choice = CURRENT
    """What to take from the kubeconfig, and whom to impersonate."""

    events: bool = True
    """Whether grants, their uses and refusals are told as Kubernetes Events, where the API server
    can be reached."""

    client_authority: Path | None = None
    """PEM file of the authority that who asks for a review needs a certificate of; none asks for no
    certificate. Probes and `/metrics` are served without one."""

    workers: int = 1
    """Processes that answer reviews; each has its own chain in the ledger."""
