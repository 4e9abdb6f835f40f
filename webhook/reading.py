"""From a request to a `Write`, with what the process knows beyond the request itself."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from glasswarden.kube.objects import Object, metadata_of
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write
from webhook.grant_keys import GrantKeys
from webhook.review import Request
from webhook.tally import Tally
from webhook.writes import write_of


class Namespaces(Protocol):
    """Who knows what stands on a Namespace."""

    def find(self, name: str) -> Object | None:
        """Return the Namespace's metadata, or nothing where it is not known."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads requests."""

    keys: GrantKeys = field(default_factory=GrantKeys)
    namespaces: Namespaces | None = None
    """Without it, a grant on a Namespace covers nothing but the Namespace."""
    tally: Tally = field(default_factory=Tally)

    def write_of(
        self, request: Request, policy: Policy, now: datetime, parent: Object | None = None
    ) -> Write:
        """Return the write that *request* asks about, stamps verified."""
        write = write_of(
            request, policy, parent, ring=self.keys.ring, namespace=self._namespace(request)
        )
        if not policy.glass or write.glass.before == write.glass.after:
            return write
        return replace(write, glass=replace(write.glass, open=self.tally.count(write, now)))

    def _namespace(self, request: Request) -> Object | None:
        if self.namespaces is None:
            return None
        name = metadata_of(request.old_object or request.object or {}).get("namespace")
        return self.namespaces.find(name) if isinstance(name, str) and name else None
