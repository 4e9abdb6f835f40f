"""Which objects, and which findings, an inspection is about. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from correlator.attribution.link import State
from correlator.finding import Finding, Result
from correlator.live.source import Scope
from glasswarden.kube.objects import Ref
from glasswarden.policy.breakglass.rules import in_own_namespace


@dataclass(frozen=True, slots=True)
class InspectionScope:
    """What an inspection is about; an empty part restricts nothing."""

    app: str = ""
    namespace: str = ""
    kinds: tuple[str, ...] = ()
    age: timedelta | None = None
    unexplained: bool = False
    """Only findings that the ledger was asked about and does not explain."""
    home: str = ""
    """The namespace of objects that name none, where all namespaces count."""

    @property
    def live(self) -> Scope:
        """The part of live state to read."""
        return Scope(self.namespace, self.namespace or self.home or "default")

    @property
    def apps(self) -> frozenset[str]:
        """The applications that were named."""
        return frozenset(filter(None, [self.app]))

    def includes(self, ref: Ref) -> bool:
        """Return whether the inspection is about the object."""
        kinds = {kind.lower() for kind in self.kinds}
        names = {ref.kind.lower(), f"{ref.group}/{ref.kind}".lower()}
        return (not self.namespace or in_own_namespace(ref).namespace in ("", self.namespace)) and (
            not kinds or bool(names & kinds)
        )

    def select_objects(self, result: Result) -> Result:
        """Return the part of *result* that is about included objects."""
        findings = tuple(each for each in result.findings if self.includes(each.ref))
        return replace(result, findings=findings)

    def select_findings(self, result: Result, now: datetime) -> Result:
        """Return the part of *result* that is in scope; what was not inspected always is."""
        findings = tuple(each for each in result.findings if self._keeps(each, now))
        return replace(result, findings=findings)

    def _keeps(self, finding: Finding, now: datetime) -> bool:
        # What nobody claims is declared with the rest of the application.
        if self.app and finding.owner is not None and finding.owner.app != self.app:
            return False
        if self.unexplained and (finding.link is None or finding.link.state != State.UNEXPLAINED):
            return False
        # Drift of unknown age may be of any.
        is_old = self.age is not None and finding.since is not None
        return not is_old or now - (finding.since or now) <= (self.age or timedelta())
