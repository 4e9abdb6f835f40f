"""What one pass left behind, for those who act upon it."""

from dataclasses import dataclass, field
from datetime import datetime

from correlator.finding import Finding, Incomplete
from glasswarden.ledger.history.episode import Changes, Episode, Term
from glasswarden.policy.policy import Policy


@dataclass(frozen=True, slots=True)
class Found:
    """A finding of this pass, with its cause, and who found it."""

    source: str
    team: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Passed:
    """One pass, after it was stored."""

    now: datetime
    term: Term
    policy: Policy
    found: tuple[Found, ...]
    changes: Changes
    """What began, changed and ended."""
    open: tuple[Episode, ...]
    """All that is open, also what was not seen because a source could not be read."""
    incomplete: tuple[Incomplete, ...] = ()
    failures: dict[str, str] = field(default_factory=dict)
    """The sources that could not be read, and why."""

    @property
    def cluster(self) -> str:
        """The cluster's name, as in records."""
        return self.term.cluster
