"""AdmissionReviews for tests that name only what matters to them."""

import copy
import json
from typing import Any

Object = dict[str, Any]

FLUX_LABELS = {
    "kustomize.toolkit.fluxcd.io/name": "shop",
    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
}


def a_deployment(*, replicas: int = 3, labels: dict[str, str] | None = None) -> Object:
    """Return a Deployment; with Flux's labels unless others are given."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "0b6f9e0c",
            "labels": copy.copy(FLUX_LABELS if labels is None else labels),
        },
        "spec": {"replicas": replicas},
    }


def a_request(**differing: Any) -> Object:  # noqa: ANN401 - any field of a request
    """Return the request of a developer who scales Flux's Deployment by an edit."""
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "name": "web",
        "namespace": "shop",
        "operation": "UPDATE",
        "userInfo": {"username": "developer", "groups": ["developers"]},
        "object": a_deployment(replicas=5),
        "oldObject": a_deployment(replicas=3),
        "dryRun": False,
        "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return request | differing


def a_review(**differing: Any) -> bytes:  # noqa: ANN401 - any field of a request
    """Return the AdmissionReview around :func:`a_request`."""
    return as_review(a_request(**differing))


def as_review(request: Object) -> bytes:
    """Return *request* as the API server sends it."""
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    ).encode()
