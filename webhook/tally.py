"""How many grants are open, by what this process has decided itself.

An object has one grant at most, so they are counted by object: the API server may ask several times
about one write, and each time another id is given.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from glasswarden.policy.breakglass.grant import Act, GrantUse
from glasswarden.policy.breakglass.notes import OpenGrants
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.policy.write import Write

_OPENING: Final = frozenset({Act.ISSUED, Act.APPROVED, Act.EXTENDED})


@dataclass(frozen=True, slots=True)
class _Open:
    actor: str
    namespace: str
    expires: datetime


class Tally:
    """Counts open grants. What other processes grant, it does not see."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    def note(self, use: GrantUse | None, write: Write) -> None:
        """Take notice of what *write* did with a grant."""
        if use is None:
            return
        if use.act is Act.CLOSED:
            self._open.pop(write.target.uid, None)
        elif use.act in _OPENING and use.expires is not None:
            self._open[write.target.uid] = _Open(use.actor, _namespace(write), use.expires)

    def count(self, write: Write, now: datetime) -> OpenGrants:
        """Return how many grants the writer has open, and how many are in the namespace."""
        self._open = {key: each for key, each in self._open.items() if each.expires > now}
        place = _namespace(write)
        return OpenGrants(
            sum(each.actor == write.actor.name for each in self._open.values()),
            sum(each.namespace == place for each in self._open.values()),
        )


def _namespace(write: Write) -> str:
    return write.target.name if is_namespace(write.target) else write.target.namespace
