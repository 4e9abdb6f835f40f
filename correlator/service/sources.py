"""What one repository declares against what is live, at the cost of what changed.

Direct writes that still stand, by the ledger: it needs no Git, and asks about them only.

What Argo CD's Applications in the cluster call out of sync: it needs neither Git nor a token.

What got past the webhook, by the API server's audit log: read on, pass after pass.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from correlator.audit.log import AuditLog
from correlator.classify.rule import Scene
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import parse_address
from correlator.declared.read import fingerprint_of, read_declared
from correlator.declared.render import Release
from correlator.detector.detect import Detector
from correlator.finding import Filter, Finding, Result
from correlator.inspection.attribute import Causes
from correlator.inspection.conclude import passed
from correlator.inspection.follow import Follower
from correlator.inspection.scan import Scan
from correlator.live.cluster import ClusterLive
from correlator.live.source import Scope
from correlator.service import metrics
from correlator.service.model import Declares, SourceFailed
from correlator.sources.argocd_api import Asked
from correlator.sources.argocd_core import read_core
from glasswarden.audit.files import Tail
from glasswarden.cluster.client import ApiServer, ApiServerError
from glasswarden.policy.policy import DEFAULT, Policy


class GitSource:
    """Follows one repository and the cluster. Belongs to one thread."""

    def __init__(
        self,
        declares: Declares,
        server: ApiServer,
        poll_seconds: float,
        on_change: Callable[[], None],
    ) -> None:
        self.name = declares.name
        self.team = declares.team
        self._declares = declares
        self._address = parse_address(declares.git)
        self._server = server
        self._policy: Policy = DEFAULT
        self._only = Filter(app=declares.app, namespace=declares.namespace)
        self._revision = Polled(self._asked, poll_seconds)
        self._follower = Follower(server, self._new_scan, self._fingerprint, on_change)

    def read(self, scene: Scene, causes: Causes) -> Result:
        """Return all that differs now, each with its cause; raises `SourceFailed`."""
        self._policy = scene.policy
        try:
            return self._only.apply(self._follower.run(scene, causes.linker()), scene.now)
        except (DeclaredUnreadable, ApiServerError) as error:
            raise SourceFailed(str(error)) from error

    def beside(self, told: Iterable[Finding]) -> list[Finding]:
        """Return what another source tells, except where comparing with Git tells better."""
        return self._follower.beside(told)

    def close(self) -> None:
        """Stop watching."""
        self._follower.close()

    def _fingerprint(self) -> object:
        # Another policy may see other differences.
        return self._revision(), self._policy

    def _asked(self) -> object:
        return fingerprint_of(self._address, self._declares.path)

    def _new_scan(self) -> tuple[Scan, ClusterLive]:
        told = self._declares
        release = Release(told.app, told.namespace, tuple(Path(each) for each in told.values))
        manifests = read_declared(self._address, told.path, release)
        live = ClusterLive(self._server, Scope(told.namespace, told.namespace or "default"))
        detector = Detector(self._policy, manifests.revision)
        apps = frozenset(filter(None, [told.app]))
        return Scan(detector, manifests, live, chosen=self._only.matches, apps=apps), live


class Polled:
    """Asks no more often than every so many seconds: passes may follow each other closely."""

    def __init__(self, ask: Callable[[], object], seconds: float) -> None:
        self._ask = ask
        self._seconds = seconds
        self._next = 0.0
        self._answer: object = None
        self._failure: DeclaredUnreadable | None = None

    def __call__(self) -> object:
        """Return the answer, or raise what kept us from having one."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._seconds
            try:
                self._answer, self._failure = self._ask(), None
            except DeclaredUnreadable as error:
                self._failure = error
        if self._failure is not None:
            raise self._failure
        return self._answer


SHARE: Final = 10
"""It rests so many times as long as it took: reading all records of a large ledger takes time."""


class LedgerSource:
    """Reads the ledger, and the objects that its records name. Belongs to one thread."""

    name = "ledger"
    team = ""

    def __init__(self, server: ApiServer, beside: Sequence[GitSource]) -> None:
        """Read; what one of *beside* tells better is left to it."""
        self._server = server
        self._beside = beside
        self._result: Result | None = None
        self._next = 0.0

    def read(self, scene: Scene, causes: Causes) -> Result:
        """Return all that differs now, each with its cause; raises `SourceFailed`."""
        if self._result is None or time.monotonic() >= self._next:
            self._result = None
            began = time.monotonic()
            try:
                self._result = self._read(scene, causes)
            except ApiServerError as error:
                raise SourceFailed(str(error)) from error
            finally:
                ended = time.monotonic()
                self._next = ended + SHARE * (ended - began)
        return self._result

    def close(self) -> None:
        """Follow nothing: there is nothing to stop."""

    def _read(self, scene: Scene, causes: Causes) -> Result:
        live = ClusterLive(self._server, Scope())
        told = causes.standing(live, Filter(), scene.now)
        findings = [*told.findings]
        for source in self._beside:
            findings = source.beside(findings)
        told = replace(told, findings=tuple(findings))
        return passed(told, live, scene, causes.linker())


class ArgoCDSource:
    """Reads the Applications, and the objects that they name. Belongs to one thread."""

    name = "argocd"
    team = ""

    def __init__(self, server: ApiServer, beside: Sequence[GitSource]) -> None:
        """Read; what one of *beside* tells better is left to it."""
        self._server = server
        self._beside = beside

    def read(self, scene: Scene, causes: Causes) -> Result:
        """Return all that differs now, each with its cause; raises `SourceFailed`."""
        try:
            live = ClusterLive(self._server, Scope())
            told = read_core(live, scene.policy, Asked())
            findings = [*told.findings]
            for source in self._beside:
                findings = source.beside(findings)
            told = replace(told, findings=tuple(findings))
            return passed(told, live, scene, causes.linker())
        except ApiServerError as error:
            raise SourceFailed(str(error)) from error

    def close(self) -> None:
        """Follow nothing: there is nothing to stop."""


RECENT: Final = timedelta(days=7)
"""How long what got past the webhook is told, and for how long it can explain a field."""


class AuditSource:
    """Follows the files of a folder. Belongs to one thread.

    What it has read explains what the others find, from the next pass on. It is asked last: what
    Git tells about a field comes before what the log tells.
    """

    name = "audit"
    team = ""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tail = Tail(folder)
        self._log: AuditLog | None = None

    def read(self, scene: Scene, causes: Causes) -> Result:
        """Return what got past the webhook lately; raises `SourceFailed`."""
        log = self._log_by(scene)
        try:
            for event in self._tail.read_new(log.note_flaw):
                log.take(event)
        except OSError as error:
            raise SourceFailed(f"{self._folder}: {error.strerror}") from error
        log.forget(scene.now - RECENT)
        causes.audit = log
        if log.watch.until is not None:
            metrics.AUDIT_EVENT.set(log.watch.until.timestamp())
        told = log.result
        # Of several on one object the last one counts.
        return replace(told, findings=tuple(reversed(told.findings)))

    def close(self) -> None:
        """Let go of what was read."""
        if self._log is not None:
            self._log.close()

    def _log_by(self, scene: Scene) -> AuditLog:
        """Return what was read so far; by other rules, it is read anew."""
        if self._log is None or self._log.watch.policy is not scene.policy:
            self.close()
            self._log, self._tail = AuditLog(scene.policy), Tail(self._folder)
        return self._log
