"""What an object says about its replicas: whether they still change, and who scales them."""

from glasswarden.kube.objects import Object, metadata_of, ref_of


def is_rolling_out(live: Object) -> bool:
    """Tell whether a workload's controller has not finished what was last asked of it."""
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


def autoscaled_by(scaler: Object) -> tuple[str, str, str]:
    """Return the kind, namespace and name of what *scaler* scales."""
    spec = scaler.get("spec")
    target = spec.get("scaleTargetRef") if isinstance(spec, dict) else None
    target = target if isinstance(target, dict) else {}
    return (
        str(target.get("kind", "Deployment")),
        ref_of(scaler).namespace,
        str(target.get("name", "")),
    )
