"""How many grants are open: by the ledger, and by what this process has decided since.

An object has one grant at most, so they are counted by object: the API server may ask several times
about one write, and each time another id is given.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from glasswarden.ledger.record import Attempt
from glasswarden.policy.breakglass.grant import Act, GrantUse
from glasswarden.policy.breakglass.notes import OpenGrants
from glasswarden.policy.breakglass.rules import placed
from glasswarden.policy.write import Write

_OPENING: Final = frozenset({Act.ISSUED, Act.APPROVED, Act.EXTENDED})


@dataclass(frozen=True, slots=True)
class _Open:
    actor: str
    namespace: str
    expires: datetime


class Tally:
    """Counts open grants. What other processes grant, it is told from the ledger."""

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
                use.actor, placed(write.target).namespace, use.expires
            )

    def learn(self, attempts: Iterable[Attempt]) -> None:
        """Know exactly the grants that *attempts*, newest first, tell of."""
        self._open = {}
        for each in attempts:
            if each.grant_expires is not None:
                place = each.name if _is_on_namespace(each) else each.namespace
                grant = _Open(each.grantee, place, each.grant_expires)
                self._open.setdefault(each.object_uid, grant)

    def count(self, person: str, write: Write, now: datetime) -> OpenGrants:
        """Return how many grants *person* has open, and how many are in the namespace.

        One on the object itself is not among them: another takes its place, and the API server may
        be asking about the write that brought it once more.
        """
        self._open = {key: each for key, each in self._open.items() if each.expires > now}
        others = [each for uid, each in self._open.items() if uid != write.target.uid]
        place = placed(write.target).namespace
        return OpenGrants(
            sum(each.actor == person for each in others),
            sum(each.namespace == place for each in others),
        )


def _is_on_namespace(attempt: Attempt) -> bool:
    return (attempt.group, attempt.kind) == ("", "Namespace")
