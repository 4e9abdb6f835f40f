"""One leader among replicas, by a Kubernetes Lease.

Other replicas' clocks are not trusted: a lease has run out when we have not seen it renewed for its
whole duration, the way client-go does it. The API server rejects the slower of two writes.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from glasswarden.cluster.client import ApiServer, Conflict
from glasswarden.kube.objects import Object

DURATION: Final = timedelta(seconds=30)

_FORMAT: Final = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True, slots=True)
class ObservedLease:
    """The holder of a lease, and since when it has not been renewed."""

    holder: str
    renewed: str
    at: datetime


def is_free(seen: ObservedLease | None, identity: str, now: datetime, duration: timedelta) -> bool:
    """Return whether *identity* may take the lease, or keep it."""
    return seen is None or seen.holder in ("", identity) or now - seen.at >= duration


@dataclass(slots=True)
class Lease:
    """One replica's view of a lease."""

    server: ApiServer
    namespace: str
    name: str
    identity: str
    duration: timedelta = DURATION
    _seen: ObservedLease | None = field(default=None, init=False)

    def hold(self, now: datetime) -> bool:
        """Take the lease, or renew it; return whether we lead until it runs out."""
        lease = self.server.get_or_none(f"{self._collection}/{self.name}")
        self._observe(lease, now)
        if not is_free(self._seen, self.identity, now, self.duration):
            return False
        try:
            self._write(lease, now)
        except Conflict:
            return False
        return True

    def release(self, now: datetime) -> None:
        """Let others lead at once, if we do."""
        lease = self.server.get_or_none(f"{self._collection}/{self.name}")
        if lease is not None and lease["spec"].get("holderIdentity") == self.identity:
            spec = lease["spec"] | {"holderIdentity": "", "renewTime": now.strftime(_FORMAT)}
            self.server.replace(f"{self._collection}/{self.name}", lease | {"spec": spec})

    @property
    def _collection(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"

    def _observe(self, lease: Object | None, now: datetime) -> None:
        if lease is None:
            self._seen = None
            return
        spec: dict[str, Any] = lease.get("spec") or {}
        holder, renewed = spec.get("holderIdentity") or "", spec.get("renewTime") or ""
        if self._seen is None or (self._seen.holder, self._seen.renewed) != (holder, renewed):
            self._seen = ObservedLease(holder, renewed, now)

    def _write(self, lease: Object | None, now: datetime) -> None:
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self.duration.total_seconds()),
            "renewTime": now.strftime(_FORMAT),
        }
        if lease is None:
            metadata = {"name": self.name, "namespace": self.namespace}
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
            self.server.create(self._collection, body | {"spec": spec})
        else:
            path = f"{self._collection}/{self.name}"
            self.server.replace(path, lease | {"spec": (lease.get("spec") or {}) | spec})
