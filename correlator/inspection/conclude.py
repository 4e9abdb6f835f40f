"""From what differs to what it means: who did it, what kind it is, and what may be shown of it.

One pass without Git: what other sources tell, and what stands around it in the cluster.

Asked is only about what was found: the reconcilers of these objects, and the autoscalers where
somebody's replicas differ.
"""

from collections.abc import Sequence
from dataclasses import replace

from correlator.classify.rule import Scene
from correlator.classify.rules import classified
from correlator.finding import Finding, Result, hide_secrets, join_results, sort_key_of
from correlator.linker import Linking, unlinked
from correlator.live.autoscalers import autoscaled_in
from correlator.live.source import Live
from correlator.sources.grace_period import lasting
from correlator.sources.reconcilers import reconcilers_of
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Path, are_nested


def concluded(
    findings: Sequence[Finding], scene: Scene, linked: Linking = unlinked
) -> tuple[Finding, ...]:
    """Return *findings* linked, then classified; hidden values are compared first, then hidden."""
    told = (classified(each, scene) for each in linked(findings))
    return tuple(hide_secrets(each, scene.policy) for each in told)


def passed(told: Result, live: Live, scene: Scene, linked: Linking = unlinked) -> Result:
    """Return what was *told*, linked, classified and in order, with secrets hidden."""
    owners = frozenset(each.owner for each in told.findings if each.owner is not None)
    reconcilers = reconcilers_of(live, owners)
    reconcilers.ask_sources(live, owners, frozenset())
    behind, unasked = reconcilers.about(owners, frozenset())
    scaled, unseen = autoscaled_in(live, told.findings)
    around = replace(
        scene,
        autoscaled=scaled,
        ignores=tuple(each.why for each in reconcilers.ignores),
        following=reconcilers.following(owners, frozenset(), scene.now),
    )
    lasts = Result(tuple(lasting(behind, scene.now)))
    findings = sorted(beside(told, lasts).findings, key=sort_key_of)
    incomplete = dict.fromkeys((*told.incomplete, *unasked, *unseen))
    return Result(concluded(findings, around, linked), tuple(incomplete), told.looked_for)


def beside(one: Result, other: Result) -> Result:
    """Return both as one; what both tell of the same field, *one* tells better."""
    known: dict[Ref, list[Path]] = {}
    for each in one.findings:
        known.setdefault(_place(each.ref), []).append(each.field)
    added = [
        each
        for each in other.findings
        if not any(are_nested(path, each.field) for path in known.get(_place(each.ref), ()))
    ]
    looked_for = f"{one.looked_for}, or {other.looked_for}"
    return replace(join_results(one, Result(tuple(added), other.incomplete)), looked_for=looked_for)


def _place(ref: Ref) -> Ref:
    return replace(ref, version="", uid="")
