"""Which findings somebody asked for."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from correlator.finding import Finding, Result
from correlator.link.link import State
from glasswarden.kube.objects import Ref
from glasswarden.policy.breakglass.rules import placed


@dataclass(frozen=True, slots=True)
class Filter:
    """What counts; an empty part asks for nothing."""

    app: str = ""
    namespace: str = ""
    kinds: tuple[str, ...] = ()
    age: timedelta | None = None
    unexplained: bool = False
    """Only what the ledger was asked about and does not explain."""

    def wants(self, ref: Ref) -> bool:
        """Tell whether the object itself counts."""
        wanted = {kind.lower() for kind in self.kinds}
        names = {ref.kind.lower(), f"{ref.group}/{ref.kind}".lower()}
        return (not self.namespace or placed(ref).namespace in ("", self.namespace)) and (
            not wanted or bool(names & wanted)
        )

    def chosen(self, result: Result) -> Result:
        """Return the part of *result* that is about objects which count."""
        return replace(
            result, findings=tuple(each for each in result.findings if self.wants(each.ref))
        )

    def applied(self, result: Result, now: datetime) -> Result:
        """Return the part of *result* that counts; what was not looked at always does."""
        kept = tuple(each for each in result.findings if self._keeps(each, now))
        return replace(result, findings=kept)

    def _keeps(self, finding: Finding, now: datetime) -> bool:
        # What nobody claims is declared with the rest of the application.
        if self.app and finding.owner is not None and finding.owner.app != self.app:
            return False
        if self.unexplained and (finding.link is None or finding.link.state != State.UNEXPLAINED):
            return False
        # Drift of unknown age may be of any.
        is_old = self.age is not None and finding.since is not None
        return not is_old or now - (finding.since or now) <= (self.age or timedelta())
