"""The targets of autoscalers, listed only where the replicas of an object differ."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from correlator.detector.rollouts import scaling_of
from correlator.finding import Finding, Incomplete
from correlator.live.source import Kind, KindUnavailable, Live, NamespacesUnavailable
from glasswarden.kube.paths import REPLICAS

Scaled: TypeAlias = dict[tuple[str, str, str], tuple[int, int]]
"""By kind, namespace and name: the fewest and the most replicas."""

_KUBERNETES: Final = Kind("autoscaling", "v2", "HorizontalPodAutoscaler")
_KINDS: Final = (_KUBERNETES, Kind("keda.sh", "v1alpha1", "ScaledObject"))


def autoscaled_in(live: Live, findings: Sequence[Finding]) -> tuple[Scaled, list[Incomplete]]:
    """Return what is scaled where *findings* are, and what could not be looked at."""
    if not any(each.field == REPLICAS for each in findings):
        return {}, []
    namespaces = frozenset(each.ref.namespace for each in findings)
    scaled: Scaled = {}
    unseen: list[Incomplete] = []
    for kind in _KINDS:
        try:
            scaled.update(map(scaling_of, live.objects(kind, namespaces)))
        except NamespacesUnavailable as error:
            unseen += [error.incomplete] if error.namespaces else []
        except KindUnavailable as error:
            if kind is _KUBERNETES:
                unseen.append(error.incomplete)
    return scaled, unseen
