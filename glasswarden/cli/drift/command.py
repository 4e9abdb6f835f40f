"""The command itself: its options, and the order in which things are done."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from correlator.finding import Result, joined
from correlator.sources import IMPORTS
from glasswarden.cli.audit import audit_log_from, audit_log_option
from glasswarden.cli.connection import access_to
from glasswarden.cli.drift.argocd import argocd_options, argocd_source
from glasswarden.cli.drift.causes import causes_from
from glasswarden.cli.drift.losses import Losses
from glasswarden.cli.drift.options import Options
from glasswarden.cli.drift.passes import (
    Asked,
    imported,
    of_cluster,
    of_folder,
    of_others,
)
from glasswarden.cli.drift.request import Request, explained
from glasswarden.cli.drift.shown import FORMATS, exit_code_of, rendered
from glasswarden.cli.drift.watching import watch
from glasswarden.cli.ledger.options import keys_option, optional_ledger_option
from glasswarden.cli.times import DURATION
from glasswarden.cluster.apiserver import ApiServer

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
def _asked(options: Options, request: Request) -> Iterator[Asked]:
    """Open the ledger and the audit log, if they were named."""
    losses, policy, name = Losses(), request.policy, options.cluster_in(request)
    with (
        audit_log_from(options.audit_logs, policy) as audit,
        causes_from(options.ledger, options.keys, name, policy, audit, losses) as causes,
    ):
        yield Asked(causes, losses, audit=audit)


def _result(options: Options, request: Request, asked: Asked) -> Result:
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
    return joined(result, Result(incomplete=tuple(losses.incomplete)))
