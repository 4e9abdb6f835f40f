"""The correlator's settings: read once, at the composition root, and never changed."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from correlator.service.sources_file import Declares

REST: Final = timedelta(seconds=2)
"""Between two passes at the least, however much changes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the correlator is told from outside."""

    ledger: str
    """Address of the ledger: records are read from it, findings kept in it."""

    sources: tuple[Declares, ...] = ()
    """The repositories that the cluster is compared with."""

    policy: Path | None = None
    """File with the rules; read again when it changes. Without it the built-in rules serve."""

    keys: Path | None = None
    """Folder with the masking keys, to compare hidden values. Without it they cannot be."""

    notifications: Path | None = None
    """File that says who is told what; read again when it changes. Without it nobody is told."""

    kubeconfig: Path | None = None
    """How to reach the API server from outside the cluster; inside, the service account serves."""

    audit: Path | None = None
    """Folder with the API server's audit log, or with what it delivers to us."""

    argocd: bool = False
    """Whether what Argo CD's Applications in the cluster call out of sync is gone by, too."""

    interval: timedelta = timedelta(seconds=60)
    """After so long there is a pass though nothing is known to have changed; Git is asked no more
    often than that."""

    retention: timedelta = timedelta(days=400)
    """What has been gone for so long is forgotten."""

    lease: str = ""
    """NAMESPACE/NAME of the Lease by which one of several replicas leads; none where there is only
    one."""

    lease_duration: timedelta = timedelta(seconds=30)
    """How long a leader that fell silent is waited for."""

    identity: str = ""
    """Who we are among replicas; no two may have the same."""
