"""The service's inspection of Argo CD's Applications."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from correlator.classify.rule import Scene
from correlator.inspection.attribute import Causes
from correlator.service.model import SourceFailed
from correlator.service.sources import ArgoCDSource
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
def causes(tmp_path: Path) -> Iterator[Causes]:
    tools = tools_in(tmp_path)
    yield Causes(tools.ledger, DEFAULT.cluster, DEFAULT, None)
    tools.history.close()
    tools.ledger.close()


def source_of(**answers: Any) -> ArgoCDSource:  # noqa: ANN401 - any JSON value
    server = Server(**{"api": SERVED, "apis": ARGOCD, **answers})
    return ArgoCDSource(cast("ApiServer", server), [])


def test_object_out_of_sync_is_a_finding(causes: Causes) -> None:
    lost = {"version": "v1", "kind": "ConfigMap", "namespace": "prod", "name": "a"}
    app = an_application(resources=[{**lost, "status": "OutOfSync"}])
    listed = {"metadata": {}, "items": [app]}
    source = source_of(apis__argoproj__dot__io__v1alpha1__applications=listed)
    [finding] = source.read(Scene(DEFAULT, NOW), causes).findings
    assert finding.is_missing_object
    assert finding.verdict is not None
    assert finding.source == "argocd-core"


def test_unreachable_cluster_fails_the_source(causes: Causes) -> None:
    with pytest.raises(SourceFailed, match="nobody"):
        source_of(api=Unreachable("nobody answers")).read(Scene(DEFAULT, NOW), causes)
