"""One pass: what a scan finds, and what other programs found."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TypeAlias

import click

from correlator.audit.lasting import lasting
from correlator.audit.log import AuditLog
from correlator.causes import Causes, NoCauses
from correlator.conclude import concluded
from correlator.confirm import Confirmation
from correlator.declared import Manifests
from correlator.detector.detect import Detector
from correlator.detector.managers import applier_of
from correlator.finding import Finding, Result, joined
from correlator.linking import Linking, unlinked
from correlator.live.cluster import ClusterLive
from correlator.live.folder import FolderLive
from correlator.live.source import Live
from correlator.scan import Progress, Scan
from correlator.sources import IMPORTS
from correlator.sources.argocd_people import naming
from correlator.without_git import beside, passed
from glasswarden.cli.connection import access_to
from glasswarden.cli.drift.argocd import Source
from glasswarden.cli.drift.losses import Losses
from glasswarden.cli.drift.request import Request
from glasswarden.cli.inputs import read_bytes
from glasswarden.cluster.apiserver import ApiServer
from glasswarden.kube.objects import Ref

IsCompared: TypeAlias = Callable[[Ref], bool]
"""Tells whether an object was held against Git."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is asked beside Git, and what to do with whoever does not answer."""

    causes: Causes | NoCauses
    losses: Losses
    source: Source | None = None
    told: tuple[Result, ...] = ()
    """What the files of other programs tell."""
    audit: AuditLog | None = None
    """The API server's log: what got past the webhook."""


def of_folder(request: Request, folder: Path, asked: Asked) -> Result:
    """Return how the objects in *folder* differ from what Git, the ledger and others say."""
    return _passed(request, FolderLive(folder, request.scope), asked)


def of_cluster(request: Request, kubeconfig: Path | None, asked: Asked) -> Result:
    """Return how the cluster differs from what Git, the ledger and others say."""
    server = ApiServer(access_to(kubeconfig), "glasswarden-drift")
    live = ClusterLive(server, request.scope)
    confirmation = Confirmation(server, live, lambda each: applier_of(each.owner))
    return _passed(request, live, asked, confirmation if request.confirm else None)


def of_others(request: Request, asked: Asked) -> Result:
    """Return what the files of other programs tell, with nothing live to hold them against."""
    scene = request.scene()
    result = Result()
    for each in asked.told:
        found = concluded(each.findings, scene, _linker(asked))
        told = Result(found, each.incomplete)
        result = joined(result, request.only.applied(told, scene.now))
    return joined(result, _past(request, asked, result.findings))


def imported(request: Request, imports: tuple[str, ...], losses: Losses) -> tuple[Result, ...]:
    """Return what the files of other programs tell, as it stands there."""
    found = []
    for each in imports:
        form, _, file = each.partition("=")
        if form not in IMPORTS or not file:
            raise click.BadParameter(f"{each!r} is not FORMAT=FILE", param_hint="--import")
        with losses.part(f"--import {each}"):
            text = read_bytes(Path(file)).decode(errors="replace")
            found.append(request.only.chosen(IMPORTS[form](text, form)))
    return tuple(found)


def new_scan(request: Request, manifests: Manifests, live: Live) -> Scan:
    """Return a scan that has not looked yet."""
    detector = Detector(request.policy, manifests.revision)
    apps = frozenset(filter(None, [request.only.app]))
    return Scan(detector, manifests, live, _teller(), request.only.wants, apps)


def _passed(
    request: Request,
    live: Live,
    asked: Asked,
    confirmation: Confirmation | None = None,
) -> Result:
    scene = request.scene()
    with asked.losses.part("the ledger", is_source=False):
        scene = replace(scene, open_grants=asked.causes.open_grants(scene.now))
    linked = naming(live, _linker(asked))
    told = _told(request, live, asked)
    found: Result | None = None
    is_compared: IsCompared = _never
    if request.address.place:
        with asked.losses.part(f"--git {request.address.place}"):
            scan = new_scan(request, request.manifests(), live)
            scan.run()
            if confirmation is not None:
                scan.confirm(confirmation)
            scan.take(told)
            found, is_compared = scan.result(scan.scene(scene), linked), scan.has_compared
    found = found or passed(told, live, scene, linked)
    result = request.only.applied(found, scene.now)
    return joined(result, _past(request, asked, found.findings, is_compared))


def _never(_: Ref) -> bool:
    """Say that no object was compared."""
    return False


def _past(
    request: Request,
    asked: Asked,
    found: Sequence[Finding],
    is_compared: IsCompared = _never,
) -> Result:
    """Return what the audit log shows that no record speaks of, and *found* does not tell."""
    log = asked.audit
    if log is None:
        return Result()
    told = Result()
    with asked.losses.part("the audit log"):
        sightings = (each for each in log.watch.sightings if request.only.wants(each.ref))
        told = Result(tuple(lasting(sightings, found, is_compared)), tuple(log.incomplete))
    return request.only.applied(told, request.scene().now)


def _told(request: Request, live: Live, asked: Asked) -> Result:
    """Return what others than Git tell; of the same field, who is asked first."""
    results: list[Result] = []
    if asked.source is not None:
        with asked.losses.part("Argo CD"):
            results.append(request.only.chosen(asked.source(live)))
    with asked.losses.part("the ledger", is_source=not isinstance(asked.causes, NoCauses)):
        standing = asked.causes.standing(live, request.only, request.scene().now)
        results += [standing] if standing is not None else []
    results += asked.told
    return reduce(beside, results) if results else Result()


def _linker(asked: Asked) -> Linking:
    """Return what links by the ledger, if it answers."""
    found: list[Linking] = [unlinked]
    with asked.losses.part("the ledger", is_source=False):
        found.append(asked.causes.linker())
    return found[-1]


def _teller() -> Callable[[Progress], None]:
    """Return what tells a person how far a scan is, if one is looking."""

    def tell(progress: Progress) -> None:
        done = progress.kinds == progress.of
        text = f"{progress.kinds}/{progress.of} kinds, {progress.objects} objects"
        click.echo(f"\r{'' if done else text}\x1b[K", err=True, nl=False)

    return tell if sys.stderr.isatty() else lambda _: None
