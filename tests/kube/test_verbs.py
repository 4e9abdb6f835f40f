"""An Application's operation requests a sync, or something else than Git declares."""

import pytest

from glasswarden.kube.engines.argocd import diverts
from glasswarden.kube.objects import Object

SOURCE = {"repoURL": "https://git.example/shop", "path": "web", "targetRevision": "main"}
APPLICATION: Object = {
    "spec": {"source": SOURCE},
    "status": {"sync": {"revision": "3f1c9d"}},
}
SEVERAL: Object = {
    "spec": {"sources": [SOURCE, {"repoURL": "https://git.example/values"}]},
    "status": {"sync": {"revisions": ["3f1c9d", "77ab02"]}},
}


@pytest.mark.parametrize(
    ("application", "sync", "expected"),
    [
        pytest.param(APPLICATION, {}, False, id="a plain sync"),
        pytest.param(APPLICATION, {"prune": True}, False, id="a sync that prunes"),
        pytest.param(APPLICATION, {"revision": ""}, False, id="no revision"),
        pytest.param(APPLICATION, {"revision": "main"}, False, id="the target revision"),
        pytest.param(APPLICATION, {"revision": "3f1c9d"}, False, id="the resolved revision"),
        pytest.param(APPLICATION, {"revision": "mine"}, True, id="another revision"),
        pytest.param(
            APPLICATION, {"revisions": ["main", "mine"]}, True, id="another revision among several"
        ),
        pytest.param(APPLICATION, {"source": SOURCE}, False, id="the declared source"),
        pytest.param(APPLICATION, {"source": SOURCE | {"path": "x"}}, True, id="another path"),
        pytest.param(APPLICATION, {"sources": [SOURCE]}, True, id="sources instead of one source"),
        pytest.param(APPLICATION, {"manifests": ["{}"]}, True, id="local manifests"),
        pytest.param(
            SEVERAL,
            {"sources": SEVERAL["spec"]["sources"], "revisions": ["3f1c9d", "HEAD"]},
            False,
            id="the declared sources",
        ),
        pytest.param(
            SEVERAL, {"revisions": ["3f1c9d", "x"]}, True, id="one other revision of several"
        ),
        pytest.param({}, {"revision": "x"}, True, id="no target revision"),
    ],
)
def test_sync_operation_diverts_from_git(application: Object, sync: Object, expected: bool) -> None:  # noqa: FBT001
    assert diverts(application, {"sync": sync}) is expected


@pytest.mark.parametrize("operation", [None, "x", {}, {"sync": None}, {"sync": []}])
def test_operation_without_a_sync_does_not_divert(operation: object) -> None:
    assert not diverts(APPLICATION, operation)
