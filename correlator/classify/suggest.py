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


def json_pointer(path: Path) -> str | None:
    """Return *path* as RFC 6901 writes it; nothing where it selects items by what they hold."""
    parts = []
    for step in path.steps:
        match step:
            case Key(name=name):
                parts.append(name.replace("~", "~0").replace("/", "~1"))
            case Index(index=index):
                parts.append(str(index))
            case _:
                return None
    return "".join(f"/{part}" for part in parts)


def jq_path(path: Path) -> str:
    """Return *path* as jq writes it."""
    return "".join(_jq_step(step) for step in path.steps) or "."


def _jq_step(step: object) -> str:
    match step:
        case Key(name=name):
            return f".{name}" if name.isidentifier() and name.isascii() else f"[{_json(name)}]"
        case Index(index=index):
            return f"[{index}]"
        case Select(keys=keys):
            tests = " and ".join(f".{name} == {_json(value)}" for name, value in keys)
            return f"[] | select({tests})"
        case Member(value=value):
            return f"[] | select(. == {_json(value)})"
        case _:
            return ""


def _json(value: Scalar) -> str:
    return json.dumps(value)
