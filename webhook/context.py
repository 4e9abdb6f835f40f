"""From a request to a `Case`, with what the process knows beyond the request itself.

That is what is on the object's Namespace, and how many grants are open: by the ledger, and by what
this process has decided since. An object has one grant at most, so grants are counted by object:
the API server may ask several times about one write, and each time another id is given.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol

from glasswarden.kube.objects import Object, metadata_of
from glasswarden.ledger.record import Attempt
from glasswarden.policy.breakglass.annotations import OpenGrants
from glasswarden.policy.breakglass.rules import in_own_namespace
from glasswarden.policy.breakglass.tokens import Act, GrantUse
from glasswarden.policy.case import Case
from glasswarden.policy.policy import Policy
from glasswarden.policy.requests import Intent, intent_of, waiting_request
from glasswarden.policy.write import Write
from webhook.caches import Namespaces, NamespaceUnknown
from webhook.reloading import GrantKeys
from webhook.review import Request
from webhook.write_builder import write_of

_OPENING: Final = frozenset({Act.ISSUED, Act.APPROVED, Act.EXTENDED})


@dataclass(frozen=True, slots=True)
class _Open:
    actor: str
    namespace: str
    expires: datetime


class Tally:
    """Counts open grants. What other processes grant, it reads from the ledger."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    def note(self, use: GrantUse | None, write: Write) -> None:
        """Take notice of what *write* did with a grant."""
        if use is None:
            return
        if use.act is Act.CLOSED:
            self._open.pop(write.target.uid, None)
        elif use.act in _OPENING and use.expires is not None:
            self._open[write.target.uid] = _Open(
                use.actor, in_own_namespace(write.target).namespace, use.expires
            )

    def learn(self, attempts: Iterable[Attempt]) -> None:
        """Know exactly the grants that *attempts*, newest first, name."""
        self._open = {}
        for each in attempts:
            if each.grant_expires is not None:
                place = each.name if _is_on_namespace(each) else each.namespace
                grant = _Open(each.grantee, place, each.grant_expires)
                self._open.setdefault(each.object_uid, grant)

    def count(self, person: str, write: Write, now: datetime) -> OpenGrants:
        """Return how many grants *person* has open, and how many are in the namespace.

        One on the object itself is not among them: another takes its place, and the API server may
        be asking about the write that created it once more.
        """
        self._open = {key: each for key, each in self._open.items() if each.expires > now}
        others = [each for uid, each in self._open.items() if uid != write.target.uid]
        place = in_own_namespace(write.target).namespace
        return OpenGrants(
            sum(each.actor == person for each in others),
            sum(each.namespace == place for each in others),
        )


def _is_on_namespace(attempt: Attempt) -> bool:
    return (attempt.group, attempt.kind) == ("", "Namespace")


class Recorded(Protocol):
    """Who knows what every process has granted."""

    async def open_grants(self, cluster: str, now: datetime) -> list[Attempt] | None:
        """Return the last record of each grant open in *cluster*; none where that is unknown."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads requests."""

    keys: GrantKeys = field(default_factory=GrantKeys)
    namespaces: Namespaces | None = None
    """Without it, a grant on a Namespace covers nothing but the Namespace."""
    tally: Tally = field(default_factory=Tally)
    recorded: Recorded | None = None
    """Without it, only what this process granted is counted."""

    async def case_of(
        self,
        request: Request,
        policy: Policy,
        now: datetime,
        parent: Object | None = None,
        *,
        fresh: bool = False,
    ) -> Case:
        """Return the write that *request* asks about, to be decided by *policy*, stamps verified.

        *fresh* asks the API server what is on the Namespace, whatever is in memory.
        """
        ring = self.keys.ring
        if not policy.glass:
            return Case(write_of(request, policy, parent, ring=ring), policy, now)
        try:
            namespace, unknown = await self._namespace(request, fresh=fresh), False
        except NamespaceUnknown:
            namespace, unknown = None, True
        write = write_of(request, policy, parent, ring=ring, namespace=namespace)
        if unknown:
            write = replace(write, glass=replace(write.glass, namespace_unknown=True))
        case = Case(write, policy, now)
        person = recipient_of(case)
        return case if person is None else await self._count_open_grants(person, case)

    async def _count_open_grants(self, person: str, case: Case) -> Case:
        """Return *case* with how many grants are open that count beside *person*'s."""
        policy, now = case.policy, case.now
        if self.recorded is not None and any(rule.is_limited for rule in policy.glass):
            # Break-glass must not fail with the database: without an answer, what is known counts.
            found = await self.recorded.open_grants(policy.cluster, now)
            if found is not None:
                self.tally.learn(found)
        return case.with_open_grants(self.tally.count(person, case.write, now))

    async def _namespace(self, request: Request, *, fresh: bool) -> Object | None:
        """Return the Namespace that the object is in, if it has a grant."""
        name = metadata_of(request.old_object or request.object or {}).get("namespace")
        if not isinstance(name, str) or not name:
            return None
        if self.namespaces is None:
            raise NamespaceUnknown(name)
        return await self.namespaces.find(name, fresh=fresh)


def recipient_of(case: Case) -> str | None:
    """Return who would have one grant more by the write, if somebody would."""
    match intent_of(case):
        case Intent.ASK:
            return case.write.actor.name
        case Intent.APPROVE:
            request = waiting_request(case)
            return request.actor if request else None
        case _:
            return None
