"""The command itself: its options, and the order in which things are done."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click

from correlator.declared import Release, parse_address
from correlator.filters import Filter
from correlator.finding import Result, joined
from correlator.live.source import Scope
from correlator.sources import IMPORTS
from glasswarden.cli.audit import audit_log_from, audit_log_option
from glasswarden.cli.connection import access_to
from glasswarden.cli.drift.argocd import argocd_options, argocd_source
from glasswarden.cli.drift.causes import causes_from
from glasswarden.cli.drift.losses import Losses
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
from glasswarden.cli.inputs import read_policy
from glasswarden.cli.ledger.options import keys_option, optional_ledger_option
from glasswarden.cli.times import DURATION
from glasswarden.cluster.apiserver import ApiServer
from glasswarden.policy.policy import DEFAULT

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
def command(
    *,
    address: str,
    path: str,
    values: tuple[Path, ...],
    folder: Path | None,
    kubeconfig: Path | None,
    app: str,
    namespace: str,
    kinds: tuple[str, ...],
    age: timedelta | None,
    policy_file: Path | None,
    imports: tuple[str, ...],
    ledger: str | None,
    keys: Path | None,
    audit_logs: tuple[Path, ...],
    cluster: str | None,
    unexplained: bool,
    confirm: bool,
    form: str,
    exit_code: bool,
    is_watch: bool,
    **argocd: Any,  # noqa: ANN401 - as they came
) -> None:
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
    _refuse_nonsense(
        declared=bool(address),
        told=bool(imports or ledger or audit_logs or argocd["argocd_url"]),
        live=folder is None,
        watched=is_watch,
        confirmed=confirm,
    )
    once = {
        "--audit-log": audit_logs,
        "--argocd": argocd["argocd_url"],
        "--confirm": confirm,
        "--import": imports,
    }
    if is_watch and (given := [option for option, value in once.items() if value]):
        raise click.UsageError(f"--watch goes by Git alone, not by {' or '.join(given)}")
    if unexplained and ledger is None:
        raise click.UsageError("--unexplained needs a ledger to ask: --ledger")
    with explained():
        request = Request(
            parse_address(address),
            path,
            Release(app, namespace, tuple(file.absolute() for file in values)),
            Scope(namespace, namespace or "default"),
            Filter(app, namespace, kinds, age, unexplained=unexplained),
            read_policy(policy_file) if policy_file else DEFAULT,
            confirm,
        )
        losses = Losses()
        name = cluster or (request.policy.cluster if policy_file else None)
        with (
            audit_log_from(audit_logs, request.policy) as audit,
            causes_from(ledger, keys, name, request.policy, audit, losses) as causes,
        ):
            if is_watch:
                losses.check()
                server = ApiServer(access_to(kubeconfig), "glasswarden-drift")
                watch(request, server, causes, form)
                return
            source = None
            with losses.part("Argo CD", is_source=False):
                source = argocd_source(app, request.policy, argocd)
            told = imported(request, imports, losses)
            asked = Asked(causes, losses, source, told, audit)
            result = None
            # What others found can be linked without a cluster to look at.
            looks = bool(address or source) or (ledger is not None and not imports)
            if looks:
                where = "the cluster" if folder is None else f"--live {folder}"
                with losses.part(where, is_source=False):
                    result = (
                        of_cluster(request, kubeconfig, asked)
                        if folder is None
                        else of_folder(request, folder, asked)
                    )
            result = result or of_others(request, asked)
            losses.check()
            result = joined(result, Result(incomplete=tuple(losses.incomplete)))
    click.echo(rendered(result, form))
    if exit_code:
        sys.exit(exit_code_of(result))


def _refuse_nonsense(
    *, declared: bool, told: bool, live: bool, watched: bool, confirmed: bool
) -> None:
    """End where what was asked for cannot go together."""
    if not declared and (watched or not told):
        ways = "--git, --ledger, --argocd, --audit-log or --import"
        raise click.UsageError(f"say what to go by: {ways}")
    if not declared and confirmed:
        raise click.UsageError("--confirm needs something to apply: --git")
    if not live and (watched or confirmed):
        raise click.UsageError("--watch and --confirm need a cluster, not --live")
