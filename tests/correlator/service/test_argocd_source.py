"""The service's inspection of Argo CD's Applications."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from correlator.classify.rule import Scene
from correlator.finding import Result
from correlator.inspection.evidence import Evidence, LiveUnavailable
from correlator.inspection.inspect import Pass
from correlator.inspection.scope import InspectionScope
from correlator.inspection.sources import argocd_core_source
from glasswarden.cluster.client import Unreachable
from glasswarden.policy.policy import DEFAULT
from tests.correlator.live.test_cluster import SERVED, Server
from tests.correlator.service.builders import NOW, tools_in
from tests.correlator.sources.test_argocd_core import an_application

if TYPE_CHECKING:
    from glasswarden.cluster.client import ApiServer

APPLICATIONS = {
    "resource": "applications",
    "responseKind": {"kind": "Application"},
    "scope": "Namespaced",
    "verbs": ["list"],
}
ARGOCD = {
    "items": [
        {
            "metadata": {"name": "argoproj.io"},
            "versions": [{"version": "v1alpha1", "resources": [APPLICATIONS]}],
        }
    ]
}


@pytest.fixture
def evidence(tmp_path: Path) -> Iterator[Evidence]:
    tools = tools_in(tmp_path)
    yield Evidence(DEFAULT, tools.ledger, DEFAULT.cluster)
    tools.history.close()
    tools.ledger.close()


def read(evidence: Evidence, **answers: Any) -> Result:  # noqa: ANN401 - any JSON value
    server = Server(**{"api": SERVED, "apis": ARGOCD, **answers})
    evidence.connect = lambda: cast("ApiServer", server)
    inspection = Pass(evidence, InspectionScope(), Scene(DEFAULT, NOW), evidence.linker())
    return argocd_core_source("argocd").read(inspection)


def test_object_out_of_sync_is_a_finding(evidence: Evidence) -> None:
    lost = {"version": "v1", "kind": "ConfigMap", "namespace": "prod", "name": "a"}
    app = an_application(resources=[{**lost, "status": "OutOfSync"}])
    listed = {"metadata": {}, "items": [app]}
    [finding] = read(evidence, apis__argoproj__dot__io__v1alpha1__applications=listed).findings
    assert finding.is_missing_object
    assert finding.verdict is not None
    assert finding.source == "argocd-core"


def test_unreachable_cluster_fails_the_source(evidence: Evidence) -> None:
    with pytest.raises(LiveUnavailable, match="nobody"):
        read(evidence, api=Unreachable("nobody answers"))
