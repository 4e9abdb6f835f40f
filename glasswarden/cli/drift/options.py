"""What was typed behind `glasswarden drift`, and what of it cannot go together."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import click

from correlator.declared import Release, parse_address
from correlator.filters import Filter
from correlator.live.source import Scope
from glasswarden.cli.drift.request import Request
from glasswarden.cli.inputs import read_policy
from glasswarden.policy.policy import DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command's options, by the names that they have there."""

    address: str
    path: str
    values: tuple[Path, ...]
    folder: Path | None
    kubeconfig: Path | None
    app: str
    namespace: str
    kinds: tuple[str, ...]
    age: timedelta | None
    policy_file: Path | None
    imports: tuple[str, ...]
    argocd_url: str
    argocd_token: Path | None
    argocd_ca: Path | None
    argocd_cluster: str
    ledger: str | None
    keys: Path | None
    audit_logs: tuple[Path, ...]
    cluster: str | None
    unexplained: bool
    confirm: bool
    form: str
    exit_code: bool
    is_watch: bool

    def check(self) -> None:
        """End where what was asked for cannot go together."""
        told = self.imports or self.ledger or self.audit_logs or self.argocd_url
        if not self.address and (self.is_watch or not told):
            ways = "--git, --ledger, --argocd, --audit-log or --import"
            raise click.UsageError(f"say what to go by: {ways}")
        if not self.address and self.confirm:
            raise click.UsageError("--confirm needs something to apply: --git")
        if self.folder is not None and (self.is_watch or self.confirm):
            raise click.UsageError("--watch and --confirm need a cluster, not --live")
        if self.is_watch and (given := self._looked_at_once()):
            raise click.UsageError(f"--watch goes by Git alone, not by {' or '.join(given)}")
        if self.unexplained and self.ledger is None:
            raise click.UsageError("--unexplained needs a ledger to ask: --ledger")

    def _looked_at_once(self) -> list[str]:
        """Return those of the options given that nobody can follow."""
        once = {
            "--audit-log": self.audit_logs,
            "--argocd": self.argocd_url,
            "--confirm": self.confirm,
            "--import": self.imports,
        }
        return [option for option, value in once.items() if value]

    def request(self) -> Request:
        """Return what is to be compared, and by which policy."""
        return Request(
            parse_address(self.address),
            self.path,
            Release(self.app, self.namespace, tuple(file.absolute() for file in self.values)),
            Scope(self.namespace, self.namespace or "default"),
            Filter(self.app, self.namespace, self.kinds, self.age, unexplained=self.unexplained),
            read_policy(self.policy_file) if self.policy_file else DEFAULT,
            self.confirm,
        )

    def cluster_in(self, request: Request) -> str | None:
        """Return what the ledger calls the cluster, if that was said."""
        return self.cluster or (request.policy.cluster if self.policy_file else None)
