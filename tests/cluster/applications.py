"""Objects as the reconcilers leave them: an application's, with the marks of its engine."""

from typing import Any

Manifest = dict[str, Any]


def deployment(name: str, namespace: str, *, replicas: int = 3) -> Manifest:
    """Return an ordinary Deployment that nobody owns."""
    labels = {"app": name}
    container = {
        "name": "app",
        "image": f"registry.example/{name}:1.4.2",
        "env": [{"name": "LOG_LEVEL", "value": "info"}],
        "ports": [{"containerPort": 8080}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {"example.com/team": "storefront"},
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def by_flux(manifest: Manifest, app: str) -> Manifest:
    """Return *manifest* with the labels of Flux's Kustomization flux-system/*app*."""
    name = "kustomize.toolkit.fluxcd.io"
    return _marked(manifest, "labels", {f"{name}/name": app, f"{name}/namespace": "flux-system"})


def by_argocd(manifest: Manifest, app: str) -> Manifest:
    """Return *manifest* with the tracking annotation of Argo CD's Application *app*."""
    group = manifest["apiVersion"].rpartition("/")[0]
    metadata = manifest["metadata"]
    place = f"{metadata['namespace']}/{metadata['name']}"
    tracking_id = f"{app}:{group}/{manifest['kind']}:{place}"
    return _marked(manifest, "annotations", {"argocd.argoproj.io/tracking-id": tracking_id})


def _marked(manifest: Manifest, field: str, marks: dict[str, str]) -> Manifest:
    metadata = manifest["metadata"]
    return manifest | {"metadata": metadata | {field: metadata.get(field, {}) | marks}}
