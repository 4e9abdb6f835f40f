"""An Application's operation asks for haste, or for something else than Git says."""

import pytest

from glasswarden.kube.objects import Object
from glasswarden.kube.verbs import is_diverting_sync

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
        pytest.param(APPLICATION, {"prune": True}, False, id="one that prunes"),
        pytest.param(APPLICATION, {"revision": ""}, False, id="no revision"),
        pytest.param(APPLICATION, {"revision": "main"}, False, id="the revision that it follows"),
        pytest.param(APPLICATION, {"revision": "3f1c9d"}, False, id="what Argo CD made of it"),
        pytest.param(APPLICATION, {"revision": "mine"}, True, id="another revision"),
        pytest.param(APPLICATION, {"revisions": ["main", "mine"]}, True, id="another among them"),
        pytest.param(APPLICATION, {"source": SOURCE}, False, id="its own source"),
        pytest.param(APPLICATION, {"source": SOURCE | {"path": "x"}}, True, id="another path"),
        pytest.param(APPLICATION, {"sources": [SOURCE]}, True, id="sources where it has one"),
        pytest.param(APPLICATION, {"manifests": ["{}"]}, True, id="manifests of somebody's own"),
        pytest.param(
            SEVERAL,
            {"sources": SEVERAL["spec"]["sources"], "revisions": ["3f1c9d", "HEAD"]},
            False,
            id="its own sources",
        ),
        pytest.param(SEVERAL, {"revisions": ["3f1c9d", "x"]}, True, id="one other of several"),
        pytest.param({}, {"revision": "x"}, True, id="nothing that it follows"),
    ],
)
def test_an_operation_diverts(application: Object, sync: Object, expected: bool) -> None:  # noqa: FBT001
    assert is_diverting_sync(application, {"sync": sync}) is expected


@pytest.mark.parametrize("operation", [None, "x", {}, {"sync": None}, {"sync": []}])
def test_what_is_no_sync_does_not(operation: object) -> None:
    assert not is_diverting_sync(APPLICATION, operation)
