"""The times in which the webhook was passed by, or was not there to be asked."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from correlator.link.drifted import Unseen

FAILED_OPEN: Final = "the webhook failed open"


@dataclass(slots=True)
class Outages:
    """Collects such times from what happened, told in its order."""

    ended: list[Unseen] = field(default_factory=list)
    _away: Unseen | None = None
    _gone: Unseen | None = None

    def failed(self, since: datetime, until: datetime) -> None:
        """Note that the webhook did not answer; until it does, it is one outage."""
        begun = self._away.since if self._away else since.replace(microsecond=0)
        self._away = Unseen(begun, until, FAILED_OPEN)

    def answered(self) -> None:
        """Note that the webhook answered."""
        if self._away is not None:
            self.ended.append(self._away)
            self._away = None

    def deleted(self, time: datetime, by: str) -> None:
        """Note that the registration is gone."""
        begun = time.replace(microsecond=0)
        self._gone = Unseen(begun, time, f"the webhook's registration was gone, deleted by {by}")

    def registered(self, time: datetime) -> None:
        """Note that the registration is there again."""
        if self._gone is not None:
            self.ended.append(replace(self._gone, until=time))
            self._gone = None

    @property
    def gone(self) -> str:
        """Why nobody is asked at present; empty where that is not so."""
        return self._gone.why if self._gone else ""

    def until(self, end: datetime) -> tuple[Unseen, ...]:
        """Return all such times, of which the last may go on until *end*."""
        open_ones = [self._away, self._gone and replace(self._gone, until=end)]
        found = [*self.ended, *(each for each in open_ones if each is not None)]
        return tuple(sorted(found, key=lambda each: each.since))
