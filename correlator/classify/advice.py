"""Rules ready to paste: one field of one object, never a whole kind.

The command that has the owner put a field back, ready to paste.

Fields where a wrong revert costs much: there a person looks before anything is undone.

Words that rules share: how an object is named on a command line, and how a manager is called.
"""

import json
import shlex
from typing import Final

from correlator.attribution.link import State
from correlator.finding import Finding, time_as_text
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Index, Key, Member, Path, Scalar, Select
from glasswarden.kube.patterns import parse_pattern


def ignore_rule(finding: Finding) -> str:
    """Return what makes the owner's engine leave the field of *finding* alone."""
    engine = finding.owner.engine if finding.owner else ""
    if engine == "argocd":
        return argocd_rule(finding.ref, finding.field)
    if finding.owner and finding.owner.kind == "HelmRelease":
        return helm_rule(finding)
    if engine == "flux":
        return flux_rule(finding)
    return removal(finding)


def removal(finding: Finding) -> str:
    """Return the advice to take the field out of Git."""
    if finding.declared is ABSENT:
        return ""
    where = f" in {finding.origin}" if finding.origin else " in Git"
    return f"# remove {finding.field} of {finding.ref}{where}"


def argocd_rule(ref: Ref, path: Path) -> str:
    """Return the entry for `spec.ignoreDifferences` of the Application."""
    lines = [
        "ignoreDifferences:",
        *([f"- group: {ref.group}"] if ref.group else ['- group: ""']),
        f"  kind: {ref.kind}",
        f"  name: {ref.name}",
        *([f"  namespace: {ref.namespace}"] if ref.namespace else []),
    ]
    pointer = json_pointer(path)
    if pointer is not None:
        return "\n".join([*lines, "  jsonPointers:", f"  - {json.dumps(pointer)}"])
    return "\n".join([*lines, "  jqPathExpressions:", f"  - {json.dumps(jq_path(path))}"])


def flux_rule(finding: Finding) -> str:
    """Return what takes the field from Flux: a patch, or the merging apply for an addition."""
    ref, pointer = finding.ref, json_pointer(finding.field)
    if finding.declared is ABSENT or pointer is None:
        return "\n".join(
            [
                f"# on {ref}, in Git",
                "metadata:",
                "  annotations:",
                "    kustomize.toolkit.fluxcd.io/ssa: Merge",
            ]
        )
    return "\n".join(
        [
            "# spec of the Kustomization",
            "patches:",
            "- target:",
            *([f"    group: {ref.group}"] if ref.group else []),
            f"    kind: {ref.kind}",
            f"    name: {ref.name}",
            "  patch: |",
            "    - op: remove",
            f"      path: {pointer}",
        ]
    )


def helm_rule(finding: Finding) -> str:
    """Return the entry for `spec.driftDetection.ignore` of the HelmRelease."""
    ref, pointer = finding.ref, json_pointer(finding.field)
    lines = ["# spec of the HelmRelease", "driftDetection:", "  ignore:", "  - paths:"]
    if pointer is None:
        # Helm's controller knows items by their number only, which is the live object's to tell.
        lines.insert(1, f"# N is the number of the item in {finding.field}")
        pointer = "".join(
            f"/{_pointer_part(step.name)}" if isinstance(step, Key) else "/N"
            for step in finding.field.steps
        )
    return "\n".join(
        [
            *lines,
            f"    - {json.dumps(pointer)}",
            "    target:",
            f"      kind: {ref.kind}",
            f"      name: {ref.name}",
            *([f"      namespace: {ref.namespace}"] if ref.namespace else []),
        ]
    )


def json_pointer(path: Path) -> str | None:
    """Return *path* as RFC 6901 writes it; nothing where it selects items by what they hold."""
    parts = []
    for step in path.steps:
        match step:
            case Key(name=name):
                parts.append(_pointer_part(name))
            case Index(index=index):
                parts.append(str(index))
            case _:
                return None
    return "".join(f"/{part}" for part in parts)


def _pointer_part(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def jq_path(path: Path) -> str:
    """Return *path* as jq writes it."""
    return "".join(_jq_step(step) for step in path.steps) or "."


def _jq_step(step: object) -> str:
    match step:
        case Key(name=name):
            key = _jq_key(name)
            return key if _is_plain(name) else key.removeprefix(".")
        case Index(index=index):
            return f"[{index}]"
        case Select(keys=keys):
            tests = " and ".join(f"{_jq_key(name)} == {_json(value)}" for name, value in keys)
            return f"[] | select({tests})"
        case Member(value=value):
            return f"[] | select(. == {_json(value)})"
        case _:
            return ""


def _jq_key(name: str) -> str:
    return f".{name}" if _is_plain(name) else f".[{_json(name)}]"


def _is_plain(name: str) -> bool:
    return name.isidentifier() and name.isascii()


def _json(value: Scalar) -> str:
    return json.dumps(value)


def kubectl(verb: str, ref: Ref, *more: str) -> str:
    """Return the kubectl command that does *verb* to *ref*."""
    kind = f"{ref.kind}.{ref.group}" if ref.group else ref.kind
    place = ["-n", ref.namespace] if ref.namespace else []
    return shlex.join(["kubectl", *verb.split(), f"{kind.lower()}/{ref.name}", *place, *more])


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
    """Tell whether records name who wrote the live value: a manager's name then counts no more."""
    link = finding.link
    return link is not None and link.state is State.EXPLAINED and link.actor != ""


def status_of(finding: Finding) -> str:
    """Return the command that shows how the owner's reconciler is."""
    owner = finding.owner
    if owner is None:
        return holders(finding)
    namespace = f" -n {owner.namespace}" if owner.namespace else " -A"
    return f"kubectl get {owner.kind.lower() or 'application'} {owner.app}{namespace} -o yaml"


_FLUX: Final = {
    "Kustomization": "kustomize.toolkit.fluxcd.io",
    "HelmRelease": "helm.toolkit.fluxcd.io",
}


def revert_command(finding: Finding) -> str:
    """Return what makes *finding* go away, as far as it is known how."""
    owner, ref = finding.owner, finding.ref
    if owner is None:
        return ""
    if owner.engine == "flux" and owner.kind in _FLUX and owner.app:
        return _flux(owner)
    if owner.engine == "argocd" and finding.declared is not ABSENT:
        return _argocd(owner, ref)
    # Other engines, and Argo CD for what was added, leave alone what Git does not mention.
    return f"{kubectl('edit', ref)}  # {finding.field}" if finding.declared is ABSENT else ""


def _flux(owner: Owner) -> str:
    ref = Ref(_FLUX[owner.kind], "", owner.kind, owner.namespace or "", owner.app)
    return f'{kubectl("annotate --overwrite", ref)} reconcile.fluxcd.io/requestedAt="$(date +%s)"'


def _argocd(owner: Owner, ref: Ref) -> str:
    place = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
    app = f"{owner.namespace}/{owner.app}" if owner.namespace else owner.app
    resource = f"{ref.group}:{ref.kind}:{place}"
    return shlex.join(["argocd", "app", "sync", app, "--resource", resource])


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
