"""What differs from Git now, with its causes: for commands that tell of it among other things."""

from dataclasses import dataclass
from pathlib import Path

from correlator.audit.log import AuditLog
from correlator.declared import Release, parse_address
from correlator.filters import Filter
from correlator.finding import Result, joined
from correlator.live.source import Scope
from glasswarden.cli.drift.causes import causes_from
from glasswarden.cli.drift.losses import Losses
from glasswarden.cli.drift.passes import Asked, of_cluster, of_folder
from glasswarden.cli.drift.request import Request, explained
from glasswarden.policy.policy import Policy


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares as `drift` does, by one ledger."""

    address: str
    """The ledger's."""
    keys: Path | None
    cluster: str
    policy: Policy
    namespace: str
    app: str
    folder: Path | None
    """The objects as they were taken from the cluster, which is not asked then."""
    kubeconfig: Path | None
    audit: AuditLog | None = None
    home: str = ""
    """The namespace of objects that name none, where all namespaces count."""

    def made(self, git: str, path: str, values: tuple[Path, ...] = ()) -> Result:
        """Return what differs from *git*; without it, which direct writes still stand.

        Raises `CannotLook`.
        """
        losses, cluster = Losses(), self.cluster or None
        with (
            explained(),
            causes_from(
                self.address, self.keys, cluster, self.policy, self.audit, losses
            ) as causes,
        ):
            request, asked = self._request(git, path, values), Asked(causes, losses)
            if self.folder is not None:
                result = of_folder(request, self.folder, asked)
            else:
                result = of_cluster(request, self.kubeconfig, asked)
            losses.check()
        return joined(result, Result(incomplete=tuple(losses.incomplete)))

    def _request(self, git: str, path: str, values: tuple[Path, ...]) -> Request:
        return Request(
            parse_address(git),
            path,
            Release(self.app, self.namespace, tuple(each.absolute() for each in values)),
            Scope(self.namespace, self.namespace or self.home or "default"),
            Filter(self.app, self.namespace),
            self.policy,
            confirm=False,
        )
