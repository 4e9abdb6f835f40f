"""One pass: what a scan finds, and what other programs found."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Final

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
from glasswarden.kube.objects import Ref


@dataclass(frozen=True, slots=True)
class Beside:
    """What is told beside a comparison."""

    source: Source | None = None
    """Another one that is asked too."""
    audit: AuditLog | None = None
    """The API server's log: what got past the webhook."""


NOTHING: Final = Beside()


def of_folder(
    request: Request, folder: Path, causes: Causes | NoCauses, beside: Beside = NOTHING
) -> Result:
    """Return how the objects in *folder* differ from what Git, the ledger and others say."""
    return _passed(request, FolderLive(folder, request.scope), causes, beside)


def of_cluster(
    request: Request,
    kubeconfig: Path | None,
    causes: Causes | NoCauses,
    beside: Beside = NOTHING,
) -> Result:
    """Return how the cluster differs from what Git, the ledger and others say."""
    server = ApiServer(access_to(kubeconfig), "glasswarden-drift")
    live = ClusterLive(server, request.scope)
    confirmation = Confirmation(server, live, lambda each: applier_of(each.owner))
    return _passed(request, live, causes, beside, confirmation if request.confirm else None)


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


def of_audit(
    request: Request,
    log: AuditLog,
    found: Sequence[Finding] = (),
    is_compared: Callable[[Ref], bool] = lambda _: False,
) -> Result:
    """Return what the audit log shows that no record speaks of, and *found* does not tell."""
    sightings = (each for each in log.watch.sightings if request.only.wants(each.ref))
    told = Result(tuple(lasting(sightings, found, is_compared)), tuple(log.incomplete))
    return request.only.applied(told, request.scene().now)


def new_scan(request: Request, manifests: Manifests, live: Live) -> Scan:
    """Return a scan that has not looked yet."""
    detector = Detector(request.policy, manifests.revision)
    apps = frozenset(filter(None, [request.only.app]))
    return Scan(detector, manifests, live, _teller(), request.only.wants, apps)


def _passed(
    request: Request,
    live: Live,
    causes: Causes | NoCauses,
    others: Beside,
    confirmation: Confirmation | None = None,
) -> Result:
    scene = request.scene()
    scene = replace(scene, open_grants=causes.open_grants(scene.now))
    linked = naming(live, causes.linker())
    results = [
        others.source and request.only.chosen(others.source(live)),
        causes.standing(live, request.only, scene.now),
    ]
    told = reduce(beside, filter(None, results)) if any(results) else Result()
    is_compared: Callable[[Ref], bool] = lambda _: False  # noqa: E731 - until a scan can tell
    if not request.address.place:
        found = passed(told, live, scene, linked)
    else:
        scan = new_scan(request, request.manifests(), live)
        scan.run()
        if confirmation is not None:
            scan.confirm(confirmation)
        scan.take(told)
        found, is_compared = scan.result(scan.scene(scene), linked), scan.has_compared
    result = request.only.applied(found, scene.now)
    if others.audit is None:
        return result
    return joined(result, of_audit(request, others.audit, found.findings, is_compared))


def _teller() -> Callable[[Progress], None]:
    """Return what tells a person how far a scan is, if one is looking."""

    def tell(progress: Progress) -> None:
        done = progress.kinds == progress.of
        text = f"{progress.kinds}/{progress.of} kinds, {progress.objects} objects"
        click.echo(f"\r{'' if done else text}\x1b[K", err=True, nl=False)

    return tell if sys.stderr.isatty() else lambda _: None
