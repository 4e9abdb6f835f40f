"""A review becomes a `Write`: whose object, what changes, who writes."""

from collections.abc import Callable
from typing import Any

import pytest

from glasswarden.kube.engines.engine import Owner
from glasswarden.policy.decision import Verdict
from glasswarden.policy.policy import DEFAULT
from glasswarden.policy.write import Write
from tests.policy.builders import a_policy, decided
from tests.webhook.builders import FLUX_LABELS, a_deployment, a_review
from webhook.review import ReviewMalformed, parse_review
from webhook.write_builder import DEEPEST_VALUE, write_of


def written(**differing: Any) -> Write:  # noqa: ANN401 - any field of a request
    return write_of(parse_review(a_review(**differing)), DEFAULT)


def test_a_review_becomes_a_write() -> None:
    write = written()
    assert (write.operation, write.actor.name, write.actor.groups) == (
        "UPDATE",
        "developer",
        ("developers",),
    )
    assert (write.target.kind, write.target.namespace, write.target.name) == (
        "Deployment",
        "shop",
        "web",
    )
    assert write.owner == Owner("flux", "shop", "flux-system", "Kustomization")
    assert [(str(each.path), each.old, each.new) for each in write.changes] == [
        ("/spec/replicas", 3, 5)
    ]
    assert write.labels == FLUX_LABELS


def test_owner_is_read_from_the_old_object() -> None:
    assert written(object=a_deployment(labels={})).owner is not None


def test_owner_is_read_from_the_new_object_when_marks_are_added() -> None:
    assert written(oldObject=a_deployment(labels={})).owner is not None


def test_target_of_a_deletion_is_read_from_the_old_object() -> None:
    """A deletecollection comes with an empty name: identity is the object's."""
    write = written(operation="DELETE", name="", object=None)
    assert (write.target.name, write.operation, write.changes) == ("web", "DELETE", ())


def test_unmanaged_object_is_not_compared() -> None:
    old, new = a_deployment(labels={}), a_deployment(labels={}, replicas=9)
    write = written(object=new, oldObject=old)
    assert (write.owner, write.changes) == (None, ())


@pytest.mark.parametrize("nested", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_value_nested_too_deep_is_rejected(nested: Callable[[object], object]) -> None:
    """Whatever its depth, the result is a rejection or a verdict, and never another error."""
    value: object = 1
    for _ in range(DEEPEST_VALUE):
        value = nested(value)
    deep, too_deep = a_deployment(), a_deployment()
    deep["spec"]["x"], too_deep["spec"]["x"] = value, nested(value)
    assert decided(written(object=deep)).verdict is Verdict.DENY
    with pytest.raises(ReviewMalformed, match="400 levels"):
        written(object=too_deep)
    assert written(object=too_deep, oldObject=too_deep).changes == ()


def test_manager_is_read_from_the_request_options() -> None:
    options = {"kind": "PatchOptions", "fieldManager": "kubectl-edit"}
    assert written(options=options).manager == "kubectl-edit"


def test_manager_is_read_from_managed_fields_without_request_options() -> None:
    new = a_deployment(replicas=5)
    new["metadata"]["managedFields"] = [
        {
            "manager": "terraform",
            "operation": "Update",
            "apiVersion": "apps/v1",
            "time": "2026-03-01T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }
    ]
    assert written(object=new).manager == "terraform"


def test_a_scale_is_a_write_to_its_parent() -> None:
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "web", "namespace": "shop", "uid": "0b6f9e0c"},
    }
    body = a_review(
        subResource="scale",
        oldObject=scale | {"spec": {"replicas": 3}},
        object=scale | {"spec": {"replicas": 5}},
    )
    write = write_of(parse_review(body), DEFAULT, parent=a_deployment())
    assert (write.target.kind, write.subresource) == ("Deployment", "scale")
    assert write.owner is not None
    assert [(str(each.path), each.old, each.new) for each in write.changes] == [
        ("/spec/replicas", 3, 5)
    ]


@pytest.mark.parametrize(("before", "after"), [(4, 5), (0, 0)], ids=["counted", "not counted"])
def test_scale_increases_the_generation_of_its_parent(before: int, after: int) -> None:
    """The Scale itself does not contain the generation of its parent."""
    parent = a_deployment()
    parent["metadata"] |= {"generation": before} if before else {}
    scale = [{"metadata": {"name": "web"}, "spec": {"replicas": count}} for count in (3, 5)]
    body = a_review(subResource="scale", oldObject=scale[0], object=scale[1])
    assert write_of(parse_review(body), DEFAULT, parent).generation == after


def test_kind_of_a_disabled_engine_is_no_reconciler() -> None:
    """Its controller would not be trusted with its own objects."""
    old = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "shop", "namespace": "flux-system"},
        "spec": {"suspend": False},
    }
    request = parse_review(a_review(oldObject=old, object=old | {"spec": {"suspend": True}}))
    write = write_of(request, a_policy("engines: {flux: {enabled: false}}"))
    assert (write.owner, write.steers) == (None, False)
    stack = old | {"apiVersion": "pulumi.com/v1", "kind": "Stack"}
    assert written(oldObject=stack, object=stack).owner is None


def test_sync_to_another_revision_diverts() -> None:
    old = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "shop", "namespace": "argocd"},
        "spec": {"source": {"repoURL": "https://git.example", "targetRevision": "main"}},
    }
    for revision, diverts in (("main", False), ("mine", True)):
        new = old | {"operation": {"sync": {"revision": revision}}}
        assert written(oldObject=old, object=new).diverts is diverts


def test_reconciler_object_is_guarded_without_a_mark() -> None:
    old = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "shop", "namespace": "flux-system"},
        "spec": {"suspend": False},
    }
    write = written(oldObject=old, object=old | {"spec": {"suspend": True}})
    assert (write.owner, write.steers) == (
        Owner("flux", "shop", "flux-system", "Kustomization"),
        True,
    )


def test_terminating_and_controlled_objects_are_recognized() -> None:
    old = a_deployment()
    old["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert written(oldObject=old).terminating
    old["metadata"]["ownerReferences"] = [{"controller": True, "name": "x"}]
    assert written(oldObject=old).controlled


def test_changes_in_a_reserved_namespace_are_compared_without_owner() -> None:
    policy = a_policy("reservedNamespaces: [shop]")
    old, new = a_deployment(labels={}), a_deployment(labels={}, replicas=9)
    write = write_of(parse_review(a_review(object=new, oldObject=old)), policy)
    assert [str(each.path) for each in write.changes] == ["/spec/replicas"]
    assert decided(write, policy).verdict is Verdict.DENY
