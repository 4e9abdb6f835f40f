"""The sources of findings, each behind the same protocol: Git, ledger, Argo CD, imports, audit log.

To add one: a class with `read`, or a `ReportedSource` around a function that returns findings as
another program reports them. Everything is read through the `Pass`, nothing is opened here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from correlator.audit.observed_write import select_lasting
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.manifests import Manifests
from correlator.declared.read import FollowedGit
from correlator.detector.detect import Detector
from correlator.detector.managers import applier_of
from correlator.finding import Result
from correlator.inspection.confirm import Confirmation
from correlator.inspection.evidence import LEDGER, Evidence, GitFolder
from correlator.inspection.follow import Follower
from correlator.inspection.inspect import Pass, Source, SourceFailed
from correlator.inspection.scan import Progress, Scan
from correlator.inspection.scope import InspectionScope
from correlator.live.cluster import ClusterLive
from correlator.live.source import Live
from correlator.sources.argocd_api import ArgoCDApi, ArgoCDUnreachable
from correlator.sources.argocd_api import Asked as Applications
from correlator.sources.argocd_core import read_core
from correlator.sources.imports import IMPORTS
from correlator.sources.ledger import Asked as DirectWrites
from correlator.sources.ledger import read_ledger
from glasswarden.cluster.client import ApiServer, ApiServerError
from glasswarden.policy.policy import DEFAULT, Policy


def _ignore(_: Progress) -> None:
    """Report nothing."""


def new_scan(
    manifests: Manifests,
    live: Live,
    policy: Policy,
    scope: InspectionScope,
    report: Callable[[Progress], None] = _ignore,
) -> Scan:
    """Return a scan that has not begun."""
    detector = Detector(policy, manifests.revision)
    return Scan(detector, manifests, live, report, scope.includes, scope.apps)


@dataclass(frozen=True, slots=True)
class GitSource:
    """Compares what a folder of Git declares with what is live, once."""

    git: GitFolder
    scope: InspectionScope
    confirm: bool = False
    """Whether the API server confirms each difference by a dry run."""
    report: Callable[[Progress], None] = _ignore
    team: str = ""
    is_log: bool = False

    @property
    def name(self) -> str:
        """The option that names the folder."""
        return str(self.git)

    def read(self, inspection: Pass) -> Result:
        """Return all that differs now, linked and classified."""
        evidence, live = inspection.evidence, inspection.live
        try:
            manifests = evidence.manifests(self.git)
            scan = new_scan(manifests, live, evidence.policy, self.scope, self.report)
            scan.run()
            if self.confirm:
                scan.confirm(_confirmation(evidence.server, live.live))
        except (DeclaredUnreadable, ApiServerError) as error:
            raise SourceFailed(str(error)) from error
        scene = scan.scene(inspection.base)
        found = scan.result(scene, inspection.linker)
        inspection.add_scan(scan, scene, found.findings)
        return found

    def close(self) -> None:
        """Follow nothing: there is nothing to stop."""


def _confirmation(server: ApiServer, live: Live) -> Confirmation:
    if not isinstance(live, ClusterLive):
        raise SourceFailed("only a cluster can confirm what differs")
    return Confirmation(server, live, lambda each: applier_of(each.owner))


class FollowedGitSource:
    """Follows a folder of Git and the cluster, at the cost of what changed. For one thread."""

    is_log = False

    def __init__(
        self,
        repository: FollowedGit,
        scope: InspectionScope,
        server: ApiServer,
        *,
        name: str = "",
        team: str = "",
        on_change: Callable[[], None] = lambda: None,
        read_revision: Callable[[], object] | None = None,
    ) -> None:
        """Follow; *read_revision* returns what changes when Git may declare something else."""
        self.name = name or f"--git {repository.address.place}"
        self.team = team
        self.scope = scope
        self._repository = repository
        self._server = server
        self._read_revision = read_revision or repository.read_revision
        self._evidence: Evidence | None = None
        self._follower = Follower(server, self._new_scan, self._fingerprint, on_change)

    def read(self, inspection: Pass) -> Result:
        """Return all that differs now, linked and classified."""
        self._evidence = inspection.evidence
        try:
            found = self._follower.run(inspection.base, inspection.linker)
        except (DeclaredUnreadable, ApiServerError) as error:
            raise SourceFailed(str(error)) from error
        if self._follower.last is not None:
            inspection.add_scan(*self._follower.last, found.findings)
        return self.scope.select_findings(found, inspection.base.now)

    def close(self) -> None:
        """Stop watching."""
        self._follower.close()

    def _fingerprint(self) -> object:
        # Another policy may find other differences.
        return self._read_revision(), self._evidence.policy if self._evidence else None

    def _new_scan(self) -> tuple[Scan, ClusterLive]:
        policy = self._evidence.policy if self._evidence else DEFAULT
        live = ClusterLive(self._server, self.scope.live)
        return new_scan(self._repository.read(), live, policy, self.scope), live


@dataclass(frozen=True, slots=True)
class ReportedSource:
    """Takes what another program or the ledger reports, unless Git explains it better."""

    name: str
    read_reported: Callable[[Pass], Result]
    """Returns findings without cause or class. Raises as `Source.read` does."""
    team: str = ""
    is_log: bool = False

    def read(self, inspection: Pass) -> Result:
        """Return all that differs now, linked and classified."""
        return inspection.conclude(self.read_reported(inspection))

    def close(self) -> None:
        """Follow nothing: there is nothing to stop."""


def ledger_source(name: str = LEDGER) -> ReportedSource:
    """Return the direct writes that the ledger recorded and that are still live."""
    return ReportedSource(name, _read_ledger)


def _read_ledger(inspection: Pass) -> Result:
    evidence, scope = inspection.evidence, inspection.scope
    if evidence.ledger is None:
        raise SourceFailed("no ledger was opened")
    asked = DirectWrites(
        cluster=evidence.cluster,
        policy=evidence.policy,
        masks=evidence.masks,
        since=None if scope.age is None else inspection.base.now - scope.age,
        wants=scope.includes,
    )
    return read_ledger(evidence.ledger, inspection.live.one, asked)


def argocd_core_source(
    name: str = "Argo CD",
    applications: Applications = Applications(),  # noqa: B008 - frozen
) -> ReportedSource:
    """Return what the Applications in the cluster call out of sync: it needs no token."""

    def read(inspection: Pass) -> Result:
        return read_core(inspection.live, inspection.evidence.policy, applications)

    return ReportedSource(name, read)


def argocd_api_source(
    connect: Callable[[], ArgoCDApi], applications: Applications, name: str = "Argo CD"
) -> ReportedSource:
    """Return what the Argo CD that *connect* returns sees by itself."""

    def read(inspection: Pass) -> Result:
        _ = inspection.live  # its findings are judged by what is live around them
        try:
            return connect().read(applications)
        except ArgoCDUnreachable as error:
            raise SourceFailed(str(error)) from error

    return ReportedSource(name, read)


def imported_source(name: str, form: str, read_text: Callable[[], str]) -> ReportedSource:
    """Return the findings in a file of another program, in one of the `IMPORTS`."""
    return ReportedSource(name, lambda _: IMPORTS[form](read_text(), form))


@dataclass(frozen=True, slots=True)
class AuditLogSource:
    """Writes in an audit log that has no record, except where other sources explain them."""

    name: str = "the audit log"
    team: str = ""
    is_log: bool = field(default=True, init=False)

    def read(self, inspection: Pass) -> Result:
        """Return the observed writes in scope; sources that are believed more come before."""
        log = inspection.evidence.audit
        if log is None:
            raise SourceFailed("no audit log was opened")
        observed = (
            each for each in log.watch.observed_writes if inspection.scope.includes(each.ref)
        )
        found = select_lasting(observed, inspection.found, inspection.has_compared)
        return Result(tuple(found), tuple(log.incomplete))

    def close(self) -> None:
        """Follow nothing: there is nothing to stop."""


def recorded_sources(evidence: Evidence, scope: InspectionScope) -> list[Source]:
    """Return the sources for whoever compares records with Git and with what is live."""
    git = [GitSource(evidence.git, scope)] if evidence.git is not None else []
    return [*git, ledger_source()]
