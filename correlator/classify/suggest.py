"""Rules ready to paste: one field of one object, never a whole kind."""

import json

from correlator.finding import Finding
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Ref
from glasswarden.kube.path_syntax import Scalar
from glasswarden.kube.paths import Index, Key, Member, Path, Select


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
