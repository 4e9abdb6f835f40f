"""Fields where a wrong revert costs much: there a person looks before anything is undone."""

from typing import Final

from correlator.finding import Finding
from glasswarden.kube.path_patterns import parse_pattern

_KINDS: Final = {
    "ClusterRole": "identity", "ClusterRoleBinding": "identity", "Role": "identity",
    "RoleBinding": "identity", "ServiceAccount": "identity", "Secret": "identity",
    "Ingress": "routing", "Service": "routing", "HTTPRoute": "routing", "Gateway": "routing",
    "NetworkPolicy": "network policy", "PersistentVolume": "data",
    "PersistentVolumeClaim": "data", "CustomResourceDefinition": "data",
    "HorizontalPodAutoscaler": "capacity", "PodDisruptionBudget": "capacity",
    "ResourceQuota": "capacity", "LimitRange": "capacity",
}  # fmt: skip
_FIELDS: Final = tuple(
    (parse_pattern(text), what)
    for text, what in (
        ("/spec/replicas", "capacity"),
        ("/spec/**/containers[*]/resources/**", "capacity"),
        ("/spec/**/serviceAccountName", "identity"),
        ("/spec/**/volumeClaimTemplates/**", "data"),
    )
)


def costly(finding: Finding) -> str:
    """Return why a wrong revert of *finding* would cost much, nothing where it would not."""
    what = _KINDS.get(finding.ref.kind) or next(
        (what for field, what in _FIELDS if field.matches(finding.field)), ""
    )
    return f"a wrong revert would touch {what}" if what else ""
