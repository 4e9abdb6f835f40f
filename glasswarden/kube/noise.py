"""Fields that change without anybody having decided anything: what a comparison leaves out.

A field is noise only if the API server or a controller of Kubernetes itself writes it and no person
can mean anything by writing it, or if it repeats what other fields already say.
"""

from typing import Final

from glasswarden.kube.objects import Object

_STATUS: Final = frozenset({"status"})

_METADATA: Final = frozenset(
    {
        # The API server sets these itself and ignores or refuses what a client sends.
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "resourceVersion",
        "selfLink",
        "uid",
        # Who wrote what: evidence about a change, not a change (`managed` reads it).
        "managedFields",
    }
)

_ANNOTATIONS: Final = frozenset(
    {
        # The whole object once more, written by `kubectl apply`; of a Secret, in clear text.
        "kubectl.kubernetes.io/last-applied-configuration",
        # The deployment controller counts rollouts here.
        "deployment.kubernetes.io/revision",
        # The status of an autoscaler, when it is read as autoscaling/v1.
        "autoscaling.alpha.kubernetes.io/conditions",
        "autoscaling.alpha.kubernetes.io/current-metrics",
    }
)


def without_noise(obj: Object, subresource: str = "") -> Object:
    """Return *obj* without noise, sharing with it whatever stayed whole.

    The status is a controller's report, and a write to the main resource cannot change it; only a
    write to the status subresource is about it. Metadata or annotations that hold nothing else are
    left out altogether, so that noise coming or going leaves no trace.
    """
    kept = obj if subresource == "status" else _without(obj, _STATUS)
    metadata = kept.get("metadata")
    if not isinstance(metadata, dict):
        return kept
    metadata = _without(metadata, _METADATA)
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict):
        metadata = _with(metadata, "annotations", _without(annotations, _ANNOTATIONS))
    return _with(kept, "metadata", metadata)


def _without(mapping: Object, keys: frozenset[str]) -> Object:
    if keys.isdisjoint(mapping):
        return mapping
    return {key: value for key, value in mapping.items() if key not in keys}


def _with(mapping: Object, key: str, value: Object) -> Object:
    if not value:
        return _without(mapping, frozenset({key}))
    return mapping if mapping[key] is value else {**mapping, key: value}
