"""From a request to a `Write`, with what the process knows beyond the request itself."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from glasswarden.kube.objects import Object, metadata_of
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write
from webhook.grant_keys import GrantKeys
from webhook.namespaces import Namespaces, NamespaceUnknown
from webhook.review import Request
from webhook.tally import Tally
from webhook.writes import write_of


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads requests."""

    keys: GrantKeys = field(default_factory=GrantKeys)
    namespaces: Namespaces | None = None
    """Without it, a grant on a Namespace covers nothing but the Namespace."""
    tally: Tally = field(default_factory=Tally)

    async def write_of(
        self, request: Request, policy: Policy, now: datetime, parent: Object | None = None
    ) -> Write:
        """Return the write that *request* asks about, stamps verified."""
        if not policy.glass:
            return write_of(request, policy, parent, ring=self.keys.ring)
        try:
            namespace, unknown = await self._namespace(request), False
        except NamespaceUnknown:
            namespace, unknown = None, True
        write = write_of(request, policy, parent, ring=self.keys.ring, namespace=namespace)
        if unknown:
            write = replace(write, glass=replace(write.glass, namespace_unknown=True))
        if write.glass.before == write.glass.after:
            return write
        return replace(write, glass=replace(write.glass, open=self.tally.count(write, now)))

    async def _namespace(self, request: Request) -> Object | None:
        """Return the Namespace that the object is in, if it has a grant."""
        name = metadata_of(request.old_object or request.object or {}).get("namespace")
        if not isinstance(name, str) or not name:
            return None
        if self.namespaces is None:
            raise NamespaceUnknown(name)
        return await self.namespaces.find(name)
