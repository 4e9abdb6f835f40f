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


def test_the_old_object_says_whose_it_is() -> None:
    assert written(object=a_deployment(labels={})).owner is not None


def test_an_object_that_is_given_a_mark_is_treated_as_what_it_claims_to_be() -> None:
    assert written(oldObject=a_deployment(labels={})).owner is not None


def test_a_deletion_is_known_by_its_old_object() -> None:
    """A deletecollection comes with an empty name: identity is the object's."""
    write = written(operation="DELETE", name="", object=None)
    assert (write.target.name, write.operation, write.changes) == ("web", "DELETE", ())


def test_nothing_is_compared_in_an_unmanaged_object() -> None:
    old, new = a_deployment(labels={}), a_deployment(labels={}, replicas=9)
    write = written(object=new, oldObject=old)
    assert (write.owner, write.changes) == (None, ())


@pytest.mark.parametrize("nested", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_a_value_that_nobody_could_show_is_refused(nested: Callable[[object], object]) -> None:
    """Whatever its depth, it is a refusal or a verdict, and never an error on the way."""
    value: object = 1
    for _ in range(DEEPEST_VALUE):
        value = nested(value)
    deep, too_deep = a_deployment(), a_deployment()
    deep["spec"]["x"], too_deep["spec"]["x"] = value, nested(value)
    assert decided(written(object=deep)).verdict is Verdict.DENY
    with pytest.raises(ReviewMalformed, match="400 levels"):
        written(object=too_deep)
    assert written(object=too_deep, oldObject=too_deep).changes == ()


def test_the_manager_is_the_one_that_the_request_names() -> None:
    options = {"kind": "PatchOptions", "fieldManager": "kubectl-edit"}
    assert written(options=options).manager == "kubectl-edit"


def test_without_a_name_the_managed_fields_tell() -> None:
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
def test_a_scale_counts_as_a_write_to_the_spec(before: int, after: int) -> None:
    """The Scale does not show how often its parent was written; who linked them later asks."""
    parent = a_deployment()
    parent["metadata"] |= {"generation": before} if before else {}
    scale = [{"metadata": {"name": "web"}, "spec": {"replicas": count}} for count in (3, 5)]
    body = a_review(subResource="scale", oldObject=scale[0], object=scale[1])
    assert write_of(parse_review(body), DEFAULT, parent).generation == after


def test_an_engine_that_does_not_count_steers_nothing() -> None:
    """Its controller would be a stranger to its own objects."""
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


def test_a_sync_to_another_revision_is_told_from_a_sync() -> None:
    old = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "shop", "namespace": "argocd"},
        "spec": {"source": {"repoURL": "https://git.example", "targetRevision": "main"}},
    }
    for revision, diverts in (("main", False), ("mine", True)):
        new = old | {"operation": {"sync": {"revision": revision}}}
        assert written(oldObject=old, object=new).diverts is diverts


def test_a_reconcilers_own_object_is_guarded_without_a_mark() -> None:
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


def test_what_is_being_deleted_and_what_is_controlled_is_seen() -> None:
    old = a_deployment()
    old["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert written(oldObject=old).terminating
    old["metadata"]["ownerReferences"] = [{"controller": True, "name": "x"}]
    assert written(oldObject=old).controlled


def test_what_changes_in_a_reserved_namespace_is_seen_whoever_owns_it() -> None:
    policy = a_policy("reservedNamespaces: [shop]")
    old, new = a_deployment(labels={}), a_deployment(labels={}, replicas=9)
    write = write_of(parse_review(a_review(object=new, oldObject=old)), policy)
    assert [str(each.path) for each in write.changes] == ["/spec/replicas"]
    assert decided(write, policy).verdict is Verdict.DENY
