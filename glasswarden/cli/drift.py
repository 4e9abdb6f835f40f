"""`glasswarden drift`: what differs from Git, the ledger and other programs' findings.

The command names its sources, has them inspected once or watched, and prints the result. It writes
nothing to the cluster.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click

from correlator.declared.read import FollowedGit
from correlator.finding import Response, Result, result_as_json
from correlator.inspection.evidence import Evidence, EvidenceOptions, GitFolder
from correlator.inspection.inspect import NothingInspected, Source, SourceFailed, inspect
from correlator.inspection.scan import Progress
from correlator.inspection.scope import InspectionScope
from correlator.inspection.sources import (
    AuditLogSource,
    FollowedGitSource,
    GitSource,
    argocd_api_source,
    argocd_core_source,
    imported_source,
    ledger_source,
)
from correlator.output.markdown import render_markdown
from correlator.output.table import render_table
from correlator.sources.argocd_api import ArgoCDApi
from correlator.sources.argocd_api import Asked as Applications
from correlator.sources.imports import IMPORTS
from glasswarden.cli.evidence import (
    audit_log_option,
    evidence_from,
    git_folder,
    git_options,
    keys_option,
    live_option,
    optional_ledger_option,
    policy_in,
    policy_option,
)
from glasswarden.cli.options import DURATION, Connection, connection_options, now, read_bytes
from glasswarden.cluster.client import ApiServerError
from glasswarden.ledger.errors import LedgerError
from glasswarden.policy.policy import Policy
from glasswarden.terminal import escape_unprintable

UNKNOWN_WIDTH: Final = 120
"""Columns where there is no terminal to ask."""

FORMATS: Final = ("table", "json", "markdown")
WATCH_SECONDS: Final = 2.0
TOKEN: Final = "ARGOCD_AUTH_TOKEN"  # noqa: S105 - the name of a variable
"""The variable from which Argo CD's own command line reads a token."""
CORE: Final = "core"
"""Stands for an Argo CD without an API."""

_FILE: Final = click.Path(dir_okay=False, path_type=Path)


class CannotInspect(click.ClickException):
    """Nothing could be compared: that is neither drift nor the lack of it."""

    exit_code = 2


@contextmanager
def exit_with_reason() -> Iterator[None]:
    """End with exit code 2 and a sentence where nothing can be compared."""
    try:
        yield
    except (ApiServerError, LedgerError, NothingInspected) as error:
        raise CannotInspect(str(error)) from error
    except click.UsageError:
        raise
    except click.ClickException as error:  # a policy that cannot be read
        raise CannotInspect(error.message) from error


def render(result: Result, form: str) -> str:
    """Return *result* in one of `FORMATS`."""
    match form:
        case "json":
            return json.dumps(result_as_json(result), indent=2)
        case "markdown":
            return render_markdown(result).rstrip("\n")
        case _:
            return render_table(result, shutil.get_terminal_size((UNKNOWN_WIDTH, 24)).columns)


def exit_code_of(result: Result) -> int:
    """Return how a check ends: 1 for drift that counts, 2 where something was not inspected."""
    if any(each.verdict and each.verdict.response != Response.IGNORE for each in result.findings):
        return 1
    return 2 if result.incomplete else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command's options, by the names that they have there."""

    git: str
    path: str
    values: tuple[Path, ...]
    folder: Path | None
    connection: Connection
    app: str
    kinds: tuple[str, ...]
    age: timedelta | None
    policy_file: Path | None
    imports: tuple[str, ...]
    argocd_url: str
    argocd_token: Path | None
    argocd_ca: Path | None
    argocd_cluster: str
    ledger: str | None
    keys: Path | None
    audit_logs: tuple[Path, ...]
    cluster: str | None
    unexplained: bool
    confirm: bool
    form: str
    exit_code: bool
    is_watch: bool

    def check(self) -> None:
        """End where what was asked for cannot go together."""
        others = self.imports or self.ledger or self.audit_logs or self.argocd_url
        if not self.git and (self.is_watch or not others):
            ways = "--git, --ledger, --argocd, --audit-log or --import"
            raise click.UsageError(f"name something to compare with: {ways}")
        if not self.git and self.confirm:
            raise click.UsageError("--confirm needs something to apply: --git")
        if self.folder is not None and (self.is_watch or self.confirm):
            raise click.UsageError("--watch and --confirm need a cluster, not --live")
        if self.is_watch and (given := self._read_once()):
            raise click.UsageError(f"--watch goes by Git alone, not by {' or '.join(given)}")
        if self.unexplained and self.ledger is None:
            raise click.UsageError("--unexplained needs a ledger to ask: --ledger")
        for each in self.imports:
            form, _, file = each.partition("=")
            if form not in IMPORTS or not file:
                raise click.BadParameter(f"{each!r} is not FORMAT=FILE", param_hint="--import")

    def _read_once(self) -> list[str]:
        """Return those of the options given that cannot be watched."""
        once = {
            "--audit-log": self.audit_logs,
            "--argocd": self.argocd_url,
            "--confirm": self.confirm,
            "--import": self.imports,
        }
        return [option for option, value in once.items() if value]

    @property
    def scope(self) -> InspectionScope:
        """What the inspection is about."""
        namespace = self.connection.namespace
        return InspectionScope(self.app, namespace, self.kinds, self.age, self.unexplained)

    @property
    def folder_in_git(self) -> GitFolder | None:
        """The folder that Git declares objects in."""
        return git_folder(self.git, self.path, self.values, self.app, self.connection.namespace)

    def evidence(self, policy: Policy) -> EvidenceOptions:
        """Return the evidence that was named; the *policy* may name the cluster."""
        return EvidenceOptions(
            policy=policy,
            ledger=self.ledger or "",
            is_ledger_required=False,
            keys=self.keys,
            cluster=self.cluster or (policy.cluster if self.policy_file else ""),
            audit_logs=self.audit_logs,
            git=self.folder_in_git,
            live_folder=self.folder,
            connect=lambda: self.connection.api_server("glasswarden-drift"),
        )

    def sources(self, evidence: Evidence) -> list[Source]:
        """Return what was named, in the order in which it is believed."""
        found: list[Source] = []
        if evidence.git is not None:
            found.append(GitSource(evidence.git, self.scope, self.confirm, _progress_reporter()))
        if self.argocd_url:
            found.append(self._argocd())
        # What other programs found can be linked without a cluster to read.
        if evidence.ledger is not None and (found or not self.imports):
            found.append(ledger_source())
        found += map(_import_source, self.imports)
        return [*found, AuditLogSource()] if evidence.audit is not None else found

    def _argocd(self) -> Source:
        applications = Applications(self.app, self.argocd_cluster)
        if self.argocd_url == CORE:
            return argocd_core_source(applications=applications)
        return argocd_api_source(self._connect_argocd, applications)

    def _connect_argocd(self) -> ArgoCDApi:
        return ArgoCDApi(self.argocd_url, _token(self.argocd_token), self.argocd_ca)


def _token(file: Path | None) -> str:
    if file is None:
        return os.environ.get(TOKEN, "")
    try:
        return file.read_text().strip()
    except OSError as error:
        raise SourceFailed(f"{file}: {error.strerror}") from error


def _import_source(option: str) -> Source:
    form, _, file = option.partition("=")

    def read() -> str:
        try:
            return read_bytes(Path(file)).decode(errors="replace")
        except click.ClickException as error:
            raise SourceFailed(error.message) from error

    return imported_source(f"--import {option}", form, read)


def _progress_reporter() -> Callable[[Progress], None]:
    """Return what shows a person how far a scan is, where a terminal is read by one."""

    def report(progress: Progress) -> None:
        done = progress.kinds == progress.of
        text = f"{progress.kinds}/{progress.of} kinds, {progress.objects} objects"
        click.echo(f"\r{'' if done else text}\x1b[K", err=True, nl=False)

    return report if sys.stderr.isatty() else lambda _: None


def watch(evidence: Evidence, source: Source, scope: InspectionScope, form: str) -> None:
    """Show what there is whenever it changes, until somebody ends it."""
    printed = ""
    try:
        while True:
            text = inspect_and_render(evidence, source, scope, form)
            if text != printed:
                click.clear()
                click.echo(text)
                printed = text
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        click.echo(err=True)
    finally:
        source.close()


def inspect_and_render(
    evidence: Evidence, source: Source, scope: InspectionScope, form: str
) -> str:
    """Return what a pass finds, or why it finds nothing: the watch survives an outage."""
    evidence.renew()
    inspection = inspect(evidence, [source], scope, now())
    try:
        inspection.check()
    except NothingInspected as error:
        return escape_unprintable(f"Nothing could be inspected: {error}")
    return render(inspection.result, form)


@click.command("drift")
@git_options
@live_option
@connection_options(
    asks_ledger=True, namespace="Only this namespace; objects that name none are in it."
)
@click.option("--app", default="", help="Only this application's objects; also the release's name.")
@click.option("--kind", "kinds", multiple=True, help="Only this kind; may be repeated.")
@click.option(
    "--since",
    "age",
    type=DURATION,
    metavar="AGE",
    help="Only what is at most this old: 90m, 24h, 7d.",
)
@policy_option("The policy file.")
@click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="FORMAT=FILE",
    help=f"Findings of another program: {', '.join(IMPORTS)}; may be repeated.",
)
@click.option(
    "--argocd",
    "argocd_url",
    default="",
    metavar="URL|core",
    help="Also what this Argo CD sees, by its API; or by its Applications alone: core.",
)
@click.option(
    "--argocd-token", type=_FILE, help=f"The file with the token; else ${TOKEN} holds it."
)
@click.option("--argocd-ca", type=_FILE, help="The authority behind its certificate.")
@click.option(
    "--argocd-cluster",
    default="",
    metavar="NAME",
    help="What Argo CD calls the cluster, where it is not its own.",
)
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
def command(**options: Any) -> None:  # noqa: ANN401 - as they came
    """Compare what Git declares with what is live, field by field.

    With --ledger, each difference is shown with who made it, when and under which ticket, or with
    why that is unknown, and direct writes that are still live are found too. Without --git, only
    the ledger is used. With --argocd, what Argo CD itself sees is shown too.

    With --audit-log, what got past the webhook is found too: writes of the emergency group, writes
    while the webhook was unavailable, changes of the guard itself. What no
    record explains is attributed to whom the log proves. Fields that are again as Git declares
    them are not shown.

    Exits with 0, with 1 for drift if --exit-code is given, and with 2 if nothing could be compared.
    With --exit-code, findings to be ignored do not count, and what could not be inspected exits
    with 2.
    """
    given = Options(**options)
    given.check()
    with exit_with_reason(), evidence_from(given.evidence(policy_in(given.policy_file))) as found:
        if given.is_watch:
            _watch(given, found)
            return
        inspection = inspect(found, given.sources(found), given.scope, now())
        inspection.check()
    click.echo(render(inspection.result, given.form))
    if given.exit_code:
        sys.exit(exit_code_of(inspection.result))


def _watch(options: Options, evidence: Evidence) -> None:
    if evidence.unopened:
        raise CannotInspect("; ".join(each.why for each in evidence.unopened))
    if evidence.git is not None:
        git = evidence.git
        repository = FollowedGit(git.address, git.path, git.release)
        source = FollowedGitSource(repository, options.scope, evidence.server)
        watch(evidence, source, options.scope, options.form)
