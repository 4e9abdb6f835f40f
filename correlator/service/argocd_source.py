"""What Argo CD's Applications in the cluster call out of sync: it needs neither Git nor a token."""

from collections.abc import Sequence
from dataclasses import replace

from correlator.causes import Causes
from correlator.classify import Scene
from correlator.finding import Result
from correlator.live.cluster import ClusterLive
from correlator.live.source import Scope
from correlator.service.git_source import GitSource
from correlator.service.source import SourceFailed
from correlator.sources.argocd_api import Asked
from correlator.sources.argocd_core import read_core
from correlator.without_git import passed
from glasswarden.cluster.apiserver import ApiServer, ApiServerError


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
