"""What is owed for grants, looked at again and again at the cost of what is not settled."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from correlator.grants.grant import Grant, State, grants_of
from correlator.standing import UNKNOWN, Answer, Standing, Standings
from glasswarden.ledger.record import Attempt, ChangedField

Key = tuple[str, str]
"""The cluster, and the grant's id in it."""

_UNDONE: Final = Standing(Answer.NO)


class Owed:
    """Knows which grants are settled: they stay so, and nobody looks at their objects again."""

    def __init__(self) -> None:
        self._settled: set[Key] = set()

    def look(self, story: Sequence[Attempt], standing: Standings, now: datetime) -> list[Grant]:
        """Return the grants that *story*, oldest first, tells of, newest first.

        *standing* is asked about what was changed under those alone that have ended and are not
        known to be settled.
        """
        told = grants_of(story, _unlooked)
        self._settled &= {key_of(grant) for grant in told}
        ended = {key_of(grant) for grant in told if grant.state(now) is State.UNCHECKED}
        wanted = ended - self._settled

        def asked(attempt: Attempt, change: ChangedField) -> Standing:
            is_wanted = (attempt.cluster, attempt.grant) in wanted
            return standing(attempt, change) if is_wanted else _UNDONE

        found = grants_of(story, asked)
        self._settled |= {key_of(grant) for grant in found if grant.state(now) is State.SETTLED}
        return found


def key_of(grant: Grant) -> Key:
    """Return what tells *grant* from all others."""
    return grant.cluster, grant.id


def _unlooked(_attempt: Attempt, _change: ChangedField) -> Standing:
    return UNKNOWN
