"""`noise`: what changes without anybody's decision."""

import json

import pytest

from glasswarden.kube.diff import remove_noise
from glasswarden.kube.objects import Object
from tests.kube.builders import an_object

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize(
    "field",
    [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    ],
)
def test_metadata_written_by_the_api_server_is_noise(field: str) -> None:
    assert remove_noise(an_object(metadata={field: "x"})) == an_object()


@pytest.mark.parametrize("field", ["labels", "finalizers", "ownerReferences", "generateName"])
def test_metadata_written_by_a_client_is_no_noise(field: str) -> None:
    obj = an_object(metadata={field: "x"})
    assert remove_noise(obj) == obj


@pytest.mark.parametrize(
    "annotation",
    [
        LAST_APPLIED,
        "deployment.kubernetes.io/revision",
        "autoscaling.alpha.kubernetes.io/conditions",
        "autoscaling.alpha.kubernetes.io/current-metrics",
    ],
)
def test_bookkeeping_annotation_is_noise(annotation: str) -> None:
    noisy = an_object(annotations={annotation: "x", "owner": "me"})
    assert remove_noise(noisy) == an_object(annotations={"owner": "me"})


@pytest.mark.parametrize(
    "annotation",
    [
        "kubectl.kubernetes.io/restartedAt",
        "kubernetes.io/change-cause",
        "autoscaling.alpha.kubernetes.io/metrics",
    ],
)
def test_meaningful_annotation_is_no_noise(annotation: str) -> None:
    obj = an_object(annotations={annotation: "x"})
    assert remove_noise(obj) == obj


def test_status_is_noise_except_for_the_status_subresource() -> None:
    obj = an_object(status={"replicas": 1})
    assert remove_noise(obj) == an_object()
    assert remove_noise(obj, subresource="scale") == an_object()
    assert remove_noise(obj, subresource="status") == obj


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param({"metadata": {"annotations": {LAST_APPLIED: "x"}}}, id="only noise"),
        pytest.param({"metadata": {"annotations": {}}}, id="empty"),
        pytest.param({"metadata": {}}, id="emptier"),
        pytest.param({}, id="nothing"),
    ],
)
def test_metadata_with_only_noise_is_removed(obj: Object) -> None:
    assert remove_noise(obj) == {}


def test_metadata_of_a_template_is_no_noise() -> None:
    template = {"metadata": {"uid": "x", "annotations": {LAST_APPLIED: "x"}}, "status": {}}
    obj = an_object(spec={"template": template})
    assert remove_noise(obj) == obj


@pytest.mark.parametrize("metadata", [None, 3, "x", [], {"annotations": 3}])
def test_malformed_metadata_is_unchanged(metadata: object) -> None:
    assert remove_noise({"metadata": metadata}) == {"metadata": metadata}


def test_removal_of_noise_does_not_modify_the_object() -> None:
    obj = an_object(annotations={LAST_APPLIED: "x"}, metadata={"uid": "u"}, status={})
    before = json.dumps(obj)
    remove_noise(obj)
    assert json.dumps(obj) == before
