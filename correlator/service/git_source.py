"""What one repository declares against what is live, at the cost of what changed."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from correlator.causes import Causes
from correlator.classify import Scene
from correlator.declared import (
    DeclaredUnreadable,
    Release,
    fingerprint,
    parse_address,
    read_declared,
)
from correlator.detector.detect import Detector
from correlator.filters import Filter
from correlator.finding import Finding, Result
from correlator.follow import Follower
from correlator.live.cluster import ClusterLive
from correlator.live.source import Scope
from correlator.scan import Scan
from correlator.service.source import SourceFailed
from correlator.service.sources_file import Declares
from glasswarden.cluster.apiserver import ApiServer, ApiServerError
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
            return self._only.applied(self._follower.run(scene, causes.linker()), scene.now)
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
        return fingerprint(self._address, self._declares.path)

    def _new_scan(self) -> tuple[Scan, ClusterLive]:
        told = self._declares
        release = Release(told.app, told.namespace, tuple(Path(each) for each in told.values))
        manifests = read_declared(self._address, told.path, release)
        live = ClusterLive(self._server, Scope(told.namespace, told.namespace or "default"))
        detector = Detector(self._policy, manifests.revision)
        apps = frozenset(filter(None, [told.app]))
        return Scan(detector, manifests, live, chosen=self._only.wants, apps=apps), live


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
