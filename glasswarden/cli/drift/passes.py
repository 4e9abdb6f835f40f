"""One pass: what a scan finds, and what other programs found."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path

import click

from correlator.audit.log import AuditLog
from correlator.causes import Causes, NoCauses
from correlator.conclude import concluded
from correlator.confirm import Confirmation
from correlator.declared import Manifests
from correlator.detector.detect import Detector
from correlator.detector.managers import applier_of
from correlator.finding import Result, joined
from correlator.linking import Linking
from correlator.live.cluster import ClusterLive
from correlator.live.folder import FolderLive
from correlator.live.source import Live
from correlator.scan import Progress, Scan
from correlator.sources import IMPORTS
from correlator.sources.argocd_people import naming
from correlator.without_git import beside, passed
from glasswarden.cli.connection import access_to
from glasswarden.cli.drift.argocd import Source
from glasswarden.cli.drift.request import Request
from glasswarden.cli.inputs import read_bytes
from glasswarden.cluster.apiserver import ApiServer


def of_folder(
    request: Request, folder: Path, causes: Causes | NoCauses, source: Source | None = None
) -> Result:
    """Return how the objects in *folder* differ from what Git, the ledger and others say."""
    return _passed(request, FolderLive(folder, request.scope), causes, source)


def of_cluster(
    request: Request,
    kubeconfig: Path | None,
    causes: Causes | NoCauses,
    source: Source | None = None,
) -> Result:
    """Return how the cluster differs from what Git, the ledger and others say.

    *source* is another one that is asked too.
    """
    server = ApiServer(access_to(kubeconfig), "glasswarden-drift")
    live = ClusterLive(server, request.scope)
    confirmation = Confirmation(server, live, lambda each: applier_of(each.owner))
    return _passed(request, live, causes, source, confirmation if request.confirm else None)


def of_others(request: Request, imports: tuple[str, ...], linked: Linking) -> Result:
    """Return what the files of other programs tell."""
    scene = request.scene()
    result = Result()
    for each in imports:
        form, _, file = each.partition("=")
        if form not in IMPORTS or not file:
            raise click.BadParameter(f"{each!r} is not FORMAT=FILE", param_hint="--import")
        text = read_bytes(Path(file)).decode(errors="replace")
        found = IMPORTS[form](text, form)
        wanted = [one for one in found.findings if request.only.wants(one.ref)]
        told = Result(concluded(wanted, scene, linked), found.incomplete)
        result = joined(result, request.only.applied(told, scene.now))
    return result


def of_audit(request: Request, log: AuditLog) -> Result:
    """Return what the audit log shows that no record speaks of."""
    told = log.result
    wanted = tuple(one for one in told.findings if request.only.wants(one.ref))
    return request.only.applied(replace(told, findings=wanted), request.scene().now)


def new_scan(request: Request, manifests: Manifests, live: Live) -> Scan:
    """Return a scan that has not looked yet."""
    detector = Detector(request.policy, manifests.revision)
    apps = frozenset(filter(None, [request.only.app]))
    return Scan(detector, manifests, live, _teller(), request.only.wants, apps)


def _passed(
    request: Request,
    live: Live,
    causes: Causes | NoCauses,
    source: Source | None,
    confirmation: Confirmation | None = None,
) -> Result:
    scene = request.scene()
    scene = replace(scene, open_grants=causes.open_grants(scene.now))
    linked = naming(live, causes.linker())
    results = [
        source and request.only.chosen(source(live)),
        causes.standing(live, request.only, scene.now),
    ]
    told = reduce(beside, filter(None, results)) if any(results) else Result()
    if not request.address.place:
        return request.only.applied(passed(told, live, scene, linked), scene.now)
    scan = new_scan(request, request.manifests(), live)
    scan.run()
    if confirmation is not None:
        scan.confirm(confirmation)
    scan.take(told)
    return request.only.applied(scan.result(scan.scene(scene), linked), scene.now)


def _teller() -> Callable[[Progress], None]:
    """Return what tells a person how far a scan is, if one is looking."""

    def tell(progress: Progress) -> None:
        done = progress.kinds == progress.of
        text = f"{progress.kinds}/{progress.of} kinds, {progress.objects} objects"
        click.echo(f"\r{'' if done else text}\x1b[K", err=True, nl=False)

    return tell if sys.stderr.isatty() else lambda _: None
