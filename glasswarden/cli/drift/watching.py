"""`--watch`: what is not as Git says, for a wall."""

import time
from dataclasses import replace
from typing import Final

import click

from correlator.causes import Causes, NoCauses
from correlator.declared import DeclaredUnreadable, fingerprint
from correlator.follow import Follower
from correlator.live.cluster import ClusterLive
from correlator.scan import Scan
from glasswarden.cli.drift.passes import new_scan
from glasswarden.cli.drift.request import Request
from glasswarden.cli.drift.shown import rendered
from glasswarden.cluster.apiserver import ApiServer, ApiServerError
from glasswarden.ledger.errors import LedgerError
from glasswarden.printable import printable

WATCH_SECONDS: Final = 2.0


def watch(request: Request, server: ApiServer, causes: Causes | NoCauses, form: str) -> None:
    """Show what there is whenever it changes, until somebody ends it."""

    def scan() -> tuple[Scan, ClusterLive]:
        live = ClusterLive(server, request.scope)
        return new_scan(request, request.manifests(), live), live

    follower = Follower(server, scan, lambda: fingerprint(request.address, request.path))
    shown = ""
    try:
        while True:
            text = _seen(request, follower, causes, form)
            if text != shown:
                click.clear()
                click.echo(text)
                shown = text
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        click.echo(err=True)
    finally:
        follower.close()


def _seen(request: Request, follower: Follower, causes: Causes | NoCauses, form: str) -> str:
    """Return what a pass finds, or why it finds nothing: a wall outlives an outage."""
    scene = request.scene()
    try:
        scene = replace(scene, open_grants=causes.open_grants(scene.now))
        found = follower.run(scene, causes.linker())
    except (DeclaredUnreadable, ApiServerError, LedgerError) as error:
        return printable(f"Nothing could be looked at: {error}")
    return rendered(request.only.applied(found, scene.now), form)
