"""The command itself: its options, and the order in which things are done.

How findings are shown, and how the command ends because of them.

`--watch`: what is not as Git says, for a wall.
"""

import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.read import fingerprint_of
from correlator.finding import Response, Result, join_results, result_as_json
from correlator.inspection.attribute import Causes, NoCauses
from correlator.inspection.follow import Follower
from correlator.inspection.scan import Scan
from correlator.live.cluster import ClusterLive
from correlator.output.markdown import render_markdown
from correlator.output.table import render_table
from correlator.sources.imports import IMPORTS
from glasswarden.cli.evidence import (
    audit_log_from,
    audit_log_option,
    keys_option,
    optional_ledger_option,
)
from glasswarden.cli.inspection import (
    Inputs,
    Losses,
    Options,
    Request,
    argocd_options,
    argocd_source,
    causes_from,
    explained,
    imported,
    new_scan,
    of_cluster,
    of_folder,
    of_others,
)
from glasswarden.cli.options import DURATION, access_to
from glasswarden.cluster.client import ApiServer, ApiServerError
from glasswarden.ledger.errors import LedgerError
from glasswarden.terminal import escape_unprintable

UNKNOWN_WIDTH: Final = 120
"""Columns where there is no terminal to ask."""

FORMATS: Final = ("table", "json", "markdown")


def rendered(result: Result, form: str) -> str:
    """Return *result* in one of `FORMATS`."""
    match form:
        case "json":
            return json.dumps(result_as_json(result), indent=2)
        case "markdown":
            return render_markdown(result).rstrip("\n")
        case _:
            return render_table(result, shutil.get_terminal_size((UNKNOWN_WIDTH, 24)).columns)


def exit_code_of(result: Result) -> int:
    """Return how a check ends: 1 for drift that counts, 2 where something was not looked at."""
    if any(each.verdict and each.verdict.response != Response.IGNORE for each in result.findings):
        return 1
    return 2 if result.incomplete else 0


WATCH_SECONDS: Final = 2.0


def watch(request: Request, server: ApiServer, causes: Causes | NoCauses, form: str) -> None:
    """Show what there is whenever it changes, until somebody ends it."""

    def scan() -> tuple[Scan, ClusterLive]:
        live = ClusterLive(server, request.scope)
        return new_scan(request, request.manifests(), live), live

    follower = Follower(server, scan, lambda: fingerprint_of(request.address, request.path))
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
        return escape_unprintable(f"Nothing could be looked at: {error}")
    return rendered(request.only.apply(found, scene.now), form)


_FOLDER: Final = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE: Final = click.Path(dir_okay=False, path_type=Path)


@click.command("drift")
@click.option(
    "--git",
    "address",
    default="",
    metavar="DIR|URL[@REV]",
    help="What is declared: a folder as it lies there, or a repository at a revision.",
)
@click.option("--path", default="", metavar="PATH", help="The folder inside of it.")
@click.option(
    "--values", multiple=True, type=_FILE, help="Values for a Helm chart; may be repeated."
)
@click.option("--live", "folder", type=_FOLDER, help="Compare with the objects in this folder.")
@click.option(
    "--kubeconfig",
    envvar="KUBECONFIG",
    type=_FILE,
    help="Compare with this cluster; ~/.kube/config, or the cluster we run in, without it.",
)
@click.option("--app", default="", help="Only this application's objects; also the release's name.")
@click.option(
    "--namespace", "-n", default="", help="Only this namespace; objects that name none are in it."
)
@click.option("--kind", "kinds", multiple=True, help="Only this kind; may be repeated.")
@click.option(
    "--since",
    "age",
    type=DURATION,
    metavar="AGE",
    help="Only what is at most this old: 90m, 24h, 7d.",
)
@click.option(
    "--policy", "policy_file", envvar="GLASSWARDEN_POLICY", type=_FILE, help="The policy file."
)
@click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="FORMAT=FILE",
    help=f"Findings of another program: {', '.join(IMPORTS)}; may be repeated.",
)
@argocd_options
@optional_ledger_option
@keys_option
@audit_log_option
@click.option("--cluster", metavar="NAME", help="Its name in the ledger, where that has several.")
@click.option("--unexplained", is_flag=True, help="Only what the ledger does not explain.")
@click.option("--confirm", is_flag=True, help="Confirm by a server-side dry run of each object.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there is drift.")
@click.option("--watch", "is_watch", is_flag=True, help="Show the table again whenever it changes.")
def command(**typed: Any) -> None:  # noqa: ANN401 - as they came
    """Compare what Git declares with what is live, field by field.

    With --ledger, each difference is shown with who made it, when and under which ticket, or with
    why that cannot be said; and direct writes that still stand are found by it too. Without --git
    it is all that is gone by. With --argocd, what Argo CD itself sees is shown too.

    With --audit-log, what got past the webhook is found too: writes of the emergency group, writes
    while the webhook was away, changes of the guard itself; and what no record explains is put down
    to whom the log proves. What is back as Git declares it is not told.

    Exits with 0, with 1 for drift if --exit-code is given, and with 2 if nothing could be compared.
    With --exit-code, findings to be ignored do not count, and what could not be looked at exits
    with 2.
    """
    options = Options(**typed)
    options.check()
    with explained():
        request = options.request()
        with _asked(options, request) as asked:
            if options.is_watch:
                asked.losses.check()
                server = ApiServer(access_to(options.kubeconfig), "glasswarden-drift")
                watch(request, server, asked.causes, options.form)
                return
            result = _result(options, request, asked)
    click.echo(rendered(result, options.form))
    if options.exit_code:
        sys.exit(exit_code_of(result))


@contextmanager
def _asked(options: Options, request: Request) -> Iterator[Inputs]:
    """Open the ledger and the audit log, if they were named."""
    losses, policy, name = Losses(), request.policy, options.cluster_in(request)
    with (
        audit_log_from(options.audit_logs, policy) as audit,
        causes_from(options.ledger, options.keys, name, policy, audit, losses) as causes,
    ):
        yield Inputs(causes, losses, audit=audit)


def _result(options: Options, request: Request, asked: Inputs) -> Result:
    """Return what all that were asked find, and what could not be looked at."""
    source, result, losses = None, None, asked.losses
    with losses.part("Argo CD", is_source=False):
        source = argocd_source(options, request.policy)
    asked = replace(asked, source=source, told=imported(request, options.imports, losses))
    # What others found can be linked without a cluster to look at.
    if options.address or source or (options.ledger is not None and not options.imports):
        folder = options.folder
        where = "the cluster" if folder is None else f"--live {folder}"
        with losses.part(where, is_source=False):
            result = (
                of_cluster(request, options.kubeconfig, asked)
                if folder is None
                else of_folder(request, folder, asked)
            )
    result = result or of_others(request, asked)
    losses.check()
    return join_results(result, Result(incomplete=tuple(losses.incomplete)))
