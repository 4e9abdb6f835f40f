"""Kubernetes objects of a wanted size, the same ones in every run."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

Object = dict[str, Any]

FLUX: Final = {
    "kustomize.toolkit.fluxcd.io/name": "shop",
    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
}
"""The labels by which Flux owns an object."""

TIME: Final = "2026-03-02T09:00:00Z"


def size_of(obj: Object) -> int:
    """Return the bytes of *obj* as the API server sends it."""
    return len(compact(obj))


def compact(obj: object) -> bytes:
    """Return JSON without white space."""
    return json.dumps(obj, separators=(",", ":"), ensure_ascii=False).encode()


def stored_deployment(size: int, labels: Mapping[str, str]) -> Object:
    """Return a Deployment of about *size* bytes as a cluster holds it, with managedFields."""
    return _stored(deployment("web", "shop", labels, variables_for(size)))


@cache
def variables_for(size: int) -> int:
    """Return how many environment variables make a stored Deployment about *size* bytes."""
    variables = 0
    while size_of(_stored(deployment("web", "shop", FLUX, variables))) < size:
        variables += 1
    return variables


def deployment(name: str, namespace: str, labels: Mapping[str, str], variables: int) -> Object:
    """Return a Deployment as somebody writes it, larger by each environment variable."""
    selector = {"app.kubernetes.io/name": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {**selector, "app.kubernetes.io/part-of": "shop", **labels},
            "annotations": {"example.com/contact": "team-shop", "example.com/tick": "0"},
        },
        "spec": {
            "replicas": 0,
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": {**selector, "app.kubernetes.io/part-of": "shop"}},
                "spec": {
                    "containers": [
                        _container("app", 8080, variables),
                        _container("proxy", 15001, variables // 4),
                    ],
                    "terminationGracePeriodSeconds": 30,
                    "volumes": [{"name": "config", "configMap": {"name": f"{name}-config"}}],
                },
            },
        },
    }


def _container(name: str, port: int, variables: int) -> Object:
    return {
        "name": name,
        "image": f"registry.example.com/shop/{name}:1.4.2",
        "ports": [{"containerPort": port, "name": "http", "protocol": "TCP"}],
        "env": [
            {
                "name": f"FEATURE_{index:03}_ENDPOINT",
                "value": f"https://f{index:03}.shop.svc:8443/v1",
            }
            for index in range(variables)
        ],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 10},
        "resources": {
            "requests": {"cpu": "250m", "memory": "256Mi"},
            "limits": {"memory": "512Mi"},
        },
        "volumeMounts": [{"name": "config", "mountPath": "/etc/shop"}],
    }


def _stored(obj: Object) -> Object:
    fields = {key: fields_of(obj[key]) for key in ("metadata", "spec")}
    metadata = {
        **obj["metadata"],
        "uid": "6f0d9d6e-6f0f-4c1e-8d3c-0d7c6a1b2e3f",
        "resourceVersion": "184467",
        "generation": 7,
        "creationTimestamp": TIME,
        "managedFields": [
            managed("kustomize-controller", "Apply", {f"f:{key}": fields[key] for key in fields}),
            managed("kube-controller-manager", "Update", {"f:status": fields_of(_status())}),
        ],
    }
    return {**obj, "metadata": metadata, "status": _status()}


def _status() -> Object:
    return {
        "observedGeneration": 7,
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "reason": reason,
                "message": f"Deployment has {kind.lower()}.",
                "lastUpdateTime": TIME,
                "lastTransitionTime": TIME,
            }
            for kind, reason in (
                ("Available", "MinimumReplicasAvailable"),
                ("Progressing", "NewReplicaSetAvailable"),
            )
        ],
    }


def managed(manager: str, operation: str, fields: Object) -> Object:
    """Return one entry of managedFields."""
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "apps/v1",
        "time": TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def fields_of(value: object) -> Object:
    """Return *value* in the form of `fieldsV1`; lists of named items are associative."""
    if isinstance(value, dict):
        return {f"f:{key}": fields_of(each) for key, each in value.items()}
    if isinstance(value, list) and _all_named(value):
        return {
            "k:" + compact({"name": each["name"]}).decode(): {".": {}, **fields_of(each)}
            for each in value
        }
    return {}


def _all_named(items: Iterable[object]) -> bool:
    return all(isinstance(each, dict) and "name" in each for each in items)
