"""From what differs to what it means: who did it, which class it is, and what may be shown of it.

Only the reconcilers of the objects that were found are asked, and autoscalers only where replicas
differ.
"""

from collections.abc import Sequence
from dataclasses import replace

from correlator.classify.rule import Scene
from correlator.classify.rules import classify
from correlator.finding import Finding, Result, hide_secrets, join_results, sort_key_of
from correlator.linker import Linking, leave_unlinked
from correlator.live.autoscalers import autoscaled_in
from correlator.live.source import Live
from correlator.sources.argocd_people import naming
from correlator.sources.grace_period import lasting
from correlator.sources.reconcilers import reconcilers_of
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Path, are_nested


def conclude(
    findings: Sequence[Finding],
    scene: Scene,
    linker: Linking = leave_unlinked,
    live: Live | None = None,
) -> tuple[Finding, ...]:
    """Return *findings* linked, then classified; hidden values are compared first, then hidden.

    With *live* state, findings also name the people behind Argo CD's server.
    """
    link = linker if live is None else naming(live, linker)
    judged = (classify(each, scene) for each in link(findings))
    return tuple(hide_secrets(each, scene.policy) for each in judged)


def conclude_reported(
    reported: Result,
    live: Live,
    scene: Scene,
    linker: Linking = leave_unlinked,
    known: frozenset[Owner] = frozenset(),
) -> Result:
    """Return what another source *reported*, linked, classified and in order, with secrets hidden.

    The reconcilers of the owners are asked too, except for *known*, which *scene* already covers.
    """
    owners = frozenset(each.owner for each in reported.findings if each.owner is not None) - known
    reconcilers = reconcilers_of(live, owners)
    reconcilers.ask_sources(live, owners, frozenset())
    behind, unasked = reconcilers.about(owners, frozenset())
    scaled, unseen = autoscaled_in(live, reported.findings)
    around = replace(
        scene,
        autoscaled={**scene.autoscaled, **scaled},
        ignores=(*scene.ignores, *(each.why for each in reconcilers.ignores)),
        following={
            **scene.following,
            **reconcilers.following(owners, frozenset(), scene.now),
        },
    )
    found = merge(reported, Result(tuple(lasting(behind, scene.now))))
    findings = sorted(found.findings, key=sort_key_of)
    incomplete = dict.fromkeys((*reported.incomplete, *unasked, *unseen))
    return Result(conclude(findings, around, linker, live), tuple(incomplete), reported.looked_for)


def merge(one: Result, other: Result) -> Result:
    """Return both as one; what both report of the same field is taken from *one*."""
    known: dict[Ref, list[Path]] = {}
    for each in one.findings:
        known.setdefault(_place(each.ref), []).append(each.field)
    added = tuple(
        each
        for each in other.findings
        if not any(are_nested(path, each.field) for path in known.get(_place(each.ref), ()))
    )
    return join_results(one, replace(other, findings=added))


def _place(ref: Ref) -> Ref:
    return replace(ref, version="", uid="")
