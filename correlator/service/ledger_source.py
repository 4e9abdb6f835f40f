"""Direct writes that still stand, by the ledger: it needs no Git, and asks about them only."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from correlator.causes import Causes
from correlator.classify import Scene
from correlator.filters import Filter
from correlator.finding import Result
from correlator.live.cluster import ClusterLive
from correlator.live.source import Scope
from correlator.service.git_source import GitSource
from correlator.service.source import SourceFailed
from correlator.without_git import passed
from glasswarden.cluster.apiserver import ApiServer, ApiServerError

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
