"""Which findings somebody asked for."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from correlator.finding import Finding, Result
from glasswarden.kube.objects import Ref

_AGE: Final = re.compile(r"(\d{1,6})([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Filter:
    """What counts; an empty part asks for nothing."""

    app: str = ""
    namespace: str = ""
    kinds: tuple[str, ...] = ()
    age: timedelta | None = None

    def wants(self, ref: Ref) -> bool:
        """Tell whether the object itself counts."""
        wanted = {kind.lower() for kind in self.kinds}
        names = {ref.kind.lower(), f"{ref.group}/{ref.kind}".lower()}
        return (not self.namespace or ref.namespace in ("", self.namespace)) and (
            not wanted or bool(names & wanted)
        )

    def applied(self, result: Result, now: datetime) -> Result:
        """Return the part of *result* that counts; what was not looked at always does."""
        kept = tuple(each for each in result.findings if self._keeps(each, now))
        return Result(kept, result.incomplete)

    def _keeps(self, finding: Finding, now: datetime) -> bool:
        # What nobody claims is declared with the rest of the application.
        if self.app and finding.owner is not None and finding.owner.app != self.app:
            return False
        # Drift of unknown age may be of any.
        is_old = self.age is not None and finding.since is not None
        return not is_old or now - (finding.since or now) <= (self.age or timedelta())


def parse_age(text: str) -> timedelta | None:
    """Return the age that *text* spells, such as ``24h``; nothing for no text."""
    if not text:
        return None
    found = _AGE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no age such as 90m, 24h or 7d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
