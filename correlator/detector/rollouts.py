"""The replicas of an object: whether they are still changing, and what scales them."""

from typing import Final

from glasswarden.kube.objects import Object, metadata_of, ref_of

_MOST_BY_KEDA: Final = 100


def is_rolling_out(live: Object) -> bool:
    """Return whether a workload's controller has not finished what was last asked of it."""
    status, spec = live.get("status"), live.get("spec")
    if not isinstance(status, dict) or not isinstance(spec, dict):
        return False
    generation = metadata_of(live).get("generation")
    observed = status.get("observedGeneration")
    if isinstance(observed, int) and isinstance(generation, int) and observed < generation:
        return True
    wanted = spec.get("replicas")
    updated = status.get("updatedReplicas", 0)
    return (
        isinstance(wanted, int)
        and "template" in spec
        and isinstance(updated, int)
        and (updated < wanted)
    )


def scaling_of(scaler: Object) -> tuple[tuple[str, str, str], tuple[int, int]]:
    """Return what *scaler* scales, and how far: the fewest and the most replicas.

    An autoscaler of Kubernetes keeps one replica at least, one of KEDA none, unless told otherwise.
    """
    spec = scaler.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    target = spec.get("scaleTargetRef")
    target = target if isinstance(target, dict) else {}
    place = (
        str(target.get("kind", "Deployment")),
        ref_of(scaler).namespace,
        str(target.get("name", "")),
    )
    if "maxReplicas" in spec:
        return place, (_number(spec, "minReplicas", 1), _number(spec, "maxReplicas", 1))
    fewest = _number(spec, "minReplicaCount", 0)
    fewest = min(fewest, _number(spec, "idleReplicaCount", fewest))
    return place, (fewest, _number(spec, "maxReplicaCount", _MOST_BY_KEDA))


def _number(spec: Object, key: str, otherwise: int) -> int:
    value = spec.get(key)
    return value if isinstance(value, int) else otherwise
