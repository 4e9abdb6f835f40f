"""`objects`: the identity of an object."""

import pytest

from glasswarden.kube.objects import Object, Ref, has_controller, ref_of
from tests.kube.builders import an_object


def test_identity_is_read_from_the_object() -> None:
    obj = an_object("apps/v1/Deployment", name="web", namespace="prod", metadata={"uid": "u-1"})
    assert ref_of(obj) == Ref("apps", "v1", "Deployment", "prod", "web", "u-1")


def test_group_of_a_core_kind_is_empty() -> None:
    assert ref_of(an_object("v1/Service")).group == ""


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    assert ref_of(an_object("v1/Namespace", namespace="")).namespace == ""


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param({}, id="empty"),
        pytest.param({"metadata": None, "kind": 3, "apiVersion": []}, id="wrong types"),
        pytest.param({"metadata": {"name": 1, "ownerReferences": [7]}}, id="wrong types inside"),
    ],
)
def test_malformed_object_has_an_empty_identity(obj: Object) -> None:
    assert ref_of(obj) == Ref("", "", "", "", "")
    assert not has_controller(obj)


@pytest.mark.parametrize(
    ("references", "controlled"),
    [
        ([{"kind": "ReplicaSet", "controller": True}], True),
        ([{"kind": "ConfigMap"}, {"kind": "ReplicaSet", "controller": True}], True),
        ([{"kind": "ConfigMap", "controller": False}], False),
        ([{"kind": "ConfigMap"}], False),
    ],
    ids=["controller", "controller among others", "not a controller", "plain owner"],
)
def test_object_is_controlled_only_by_a_controller_reference(
    references: list[Object],
    controlled: bool,  # noqa: FBT001 - an expectation
) -> None:
    assert has_controller(an_object(metadata={"ownerReferences": references})) == controlled
