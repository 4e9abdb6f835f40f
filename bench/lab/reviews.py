"""AdmissionReviews as an API server sends them, the same ones in every run."""

import copy
from typing import Final

from bench.lab.objects import FLUX, TIME, Object, compact, managed, size_of, stored_deployment

REVIEW_SIZE: Final = 12_000
"""Bytes of the review that most benchmarks send: both objects and the words around."""

RECONCILER: Final = "system:serviceaccount:flux-system:kustomize-controller"
PERSON: Final = "alice"


def review(old: Object, new: Object, user: str) -> bytes:
    """Return the review of *user*'s update of *old* to *new*."""
    group, _, version = new["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": new["kind"]}
    resource = {"group": group, "version": version, "resource": f"{new['kind'].lower()}s"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": new["metadata"]["name"],
        "namespace": new["metadata"]["namespace"],
        "operation": "UPDATE",
        "userInfo": {"username": user, "groups": ["developers", "system:authenticated"]},
        "object": new,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    sent = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    # Go's encoder ends every document with a line feed, so this is what reaches a webhook.
    return compact(sent) + b"\n"


def unmanaged_update() -> bytes:
    """Return a person's update of a Deployment that nobody owns."""
    old = _sized({})
    return review(old, edited(old), PERSON)


def reconciler_update() -> bytes:
    """Return the owner's own update: what changed is found out, nothing is recorded."""
    old = _sized(FLUX)
    return review(old, edited(old), RECONCILER)


def guarded_update() -> bytes:
    """Return a person's update of a Deployment that Flux owns: the one that must be refused."""
    old = _sized(FLUX)
    return review(old, edited(old), PERSON)


def edited(old: Object) -> Object:
    """Return *old* as `kubectl edit` leaves it: an image, a number of replicas, a variable."""
    new = copy.deepcopy(old)
    container = new["spec"]["template"]["spec"]["containers"][0]
    new["spec"]["replicas"] = 3
    container["image"] = "registry.example.com/shop/app:1.4.3-hotfix"
    container["env"][-1]["value"] = "https://standby.shop.svc:8443/v1"
    new["metadata"]["generation"] += 1
    fields: Object = {"f:spec": {"f:replicas": {}}}
    new["metadata"]["managedFields"].append(
        {**managed("kubectl-edit", "Update", fields), "time": TIME}
    )
    return new


def _sized(labels: dict[str, str]) -> Object:
    """Return the Deployment whose review has the usual size."""
    small = stored_deployment(0, labels)
    around = len(review(small, small, PERSON)) - 2 * size_of(small)
    return stored_deployment((REVIEW_SIZE - around) // 2, labels)
