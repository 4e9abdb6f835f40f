"""From a request to a `Write`, with what the process knows beyond the request itself."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from glasswarden.kube.objects import Object, metadata_of
from glasswarden.ledger.record import Attempt
from glasswarden.policy.intent import Intent, intent_of, waiting_petition
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write
from webhook.grant_keys import GrantKeys
from webhook.namespaces import Namespaces, NamespaceUnknown
from webhook.review import Request
from webhook.tally import Tally
from webhook.writes import write_of


class Recorded(Protocol):
    """Who knows what every process has granted."""

    async def open_grants(self, cluster: str, now: datetime) -> list[Attempt] | None:
        """Return the last record of each grant open in *cluster*; none where nobody can tell."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads requests."""

    keys: GrantKeys = field(default_factory=GrantKeys)
    namespaces: Namespaces | None = None
    """Without it, a grant on a Namespace covers nothing but the Namespace."""
    tally: Tally = field(default_factory=Tally)
    recorded: Recorded | None = None
    """Without it, only what this process granted is counted."""

    async def write_of(
        self,
        request: Request,
        policy: Policy,
        now: datetime,
        parent: Object | None = None,
        *,
        fresh: bool = False,
    ) -> Write:
        """Return the write that *request* asks about, stamps verified.

        *fresh* asks the API server what stands on the Namespace, whatever is in memory.
        """
        if not policy.glass:
            return write_of(request, policy, parent, ring=self.keys.ring)
        try:
            namespace, unknown = await self._namespace(request, fresh=fresh), False
        except NamespaceUnknown:
            namespace, unknown = None, True
        write = write_of(request, policy, parent, ring=self.keys.ring, namespace=namespace)
        if unknown:
            write = replace(write, glass=replace(write.glass, namespace_unknown=True))
        person = grantee_of(write, policy, now)
        return write if person is None else await self._counted(person, write, policy, now)

    async def _counted(self, person: str, write: Write, policy: Policy, now: datetime) -> Write:
        """Return *write* with how many grants are open that *person*'s would stand beside."""
        if self.recorded is not None and any(rule.is_limited for rule in policy.glass):
            # Break-glass must not fail with the database: without an answer, what is known counts.
            found = await self.recorded.open_grants(policy.cluster, now)
            if found is not None:
                self.tally.learn(found)
        return replace(write, glass=replace(write.glass, open=self.tally.count(person, write, now)))

    async def _namespace(self, request: Request, *, fresh: bool) -> Object | None:
        """Return the Namespace that the object is in, if it has a grant."""
        name = metadata_of(request.old_object or request.object or {}).get("namespace")
        if not isinstance(name, str) or not name:
            return None
        if self.namespaces is None:
            raise NamespaceUnknown(name)
        return await self.namespaces.find(name, fresh=fresh)


def grantee_of(write: Write, policy: Policy, now: datetime) -> str | None:
    """Return who would have one grant more by *write*, if somebody would."""
    match intent_of(write, policy, now):
        case Intent.ASK:
            return write.actor.name
        case Intent.APPROVE:
            petition = waiting_petition(write, policy, now)
            return petition.actor if petition else None
        case _:
            return None
