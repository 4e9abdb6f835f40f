"""What the ledger knows of grants, as `grants_of` reads it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from glasswarden.ledger.attempts import asked, writes_of
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.question import Question
from glasswarden.ledger.record import Attempt

PAGE: Final = 500
BEGINNINGS: Final = frozenset({"issued", "approved"})


def stories_since(ledger: Ledger, since: datetime, cluster: str | None = None) -> list[Attempt]:
    """Return what was recorded of the grants that anything happened to since *since*.

    Oldest first, and from each grant's beginning.
    """
    recent = list(asked(ledger, Question(granted=True, cluster=cluster, since=since, limit=PAGE)))
    begun = {_key(each) for each in recent if each.grant_act in BEGINNINGS}
    torn = {_key(each) for each in recent} - begun
    earlier = (
        each
        for place, grant in sorted(torn)
        for each in asked(ledger, Question(grant=grant, cluster=place, until=since, limit=PAGE))
    )
    return last_tries(sorted([*earlier, *recent], key=lambda each: each.id))


def last_tries(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Return *attempts*, oldest first, without those that the API server tried again.

    Each try was given a grant of its own, and only the last one can have been stored.
    """
    kept = (
        each
        for tries in writes_of(attempts)
        for each in {each.grant_act: each for each in tries}.values()
    )
    return sorted(kept, key=lambda each: each.id)


def _key(attempt: Attempt) -> tuple[str, str]:
    return attempt.cluster, attempt.grant
