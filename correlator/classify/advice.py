"""Advice on a finding, ready to paste: commands, and rules about one field of one object.

No rule here is about a whole kind. What only one engine understands comes from that engine.
"""

from typing import Final

from correlator.attribution.link import State
from correlator.finding import Finding, time_as_text
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.engines.engine import DriftedField
from glasswarden.kube.engines.registry import drift_of
from glasswarden.kube.notation import kubectl
from glasswarden.kube.patterns import parse_pattern


def ignore_rule(finding: Finding) -> str:
    """Return what makes the owner's engine leave the field of *finding* alone."""
    return engine_rule(finding) or removal(finding)


def engine_rule(finding: Finding) -> str:
    """Return the rule of the owner's engine that does so, empty where it has none."""
    field = _drifted_field_of(finding)
    return drift_of(field.owner.engine).ignore_rule(field) if field else ""


def _drifted_field_of(finding: Finding) -> DriftedField | None:
    if finding.owner is None:
        return None
    is_addition = finding.declared is ABSENT
    return DriftedField(finding.owner, finding.ref, finding.field, is_addition)


def removal(finding: Finding) -> str:
    """Return the advice to take the field out of Git."""
    if finding.declared is ABSENT:
        return ""
    where = f" in {finding.origin}" if finding.origin else " in Git"
    return f"# remove {finding.field} of {finding.ref}{where}"


def holders(finding: Finding) -> str:
    """Return the command that shows who holds each field of the object."""
    return kubectl("get", finding.ref, "-o", "yaml", "--show-managed-fields")


def writer(finding: Finding) -> str:
    """Return who wrote the live value and when, as far as managedFields tell."""
    if not finding.managers:
        return "no field manager holds it"
    text = f"field manager {finding.managers[0]!r} holds it"
    since = time_as_text(finding.since)
    behind = f", for {finding.behind} as it says" if finding.behind else ""
    return f"{text} since {since}{behind}" if since else f"{text}{behind}"


def is_explained(finding: Finding) -> bool:
    """Return whether records name who wrote the live value: the field manager no longer counts."""
    link = finding.link
    return link is not None and link.state is State.EXPLAINED and link.actor != ""


def status_of(finding: Finding) -> str:
    """Return the command that shows how the owner's reconciler is."""
    owner = finding.owner
    if owner is None:
        return holders(finding)
    namespace = f" -n {owner.namespace}" if owner.namespace else " -A"
    return f"kubectl get {owner.kind.lower() or 'application'} {owner.app}{namespace} -o yaml"


def revert_command(finding: Finding) -> str:
    """Return how to resolve *finding*, as far as that is known."""
    field = _drifted_field_of(finding)
    if field is None:
        return ""
    if command := drift_of(field.owner.engine).revert_command(field):
        return command
    # Most engines leave alone what Git does not declare.
    return f"{kubectl('edit', field.ref)}  # {field.path}" if field.is_addition else ""


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
