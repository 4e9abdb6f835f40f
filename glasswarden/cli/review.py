"""`glasswarden review`: the weekly look at what keeps drifting."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import click

from correlator.review.compose import Period, Seen, compose
from correlator.review.formats import render_markdown, render_page, render_text
from correlator.review.model import Review, as_json
from glasswarden.cli.audit import audit_log_from, audit_log_option
from glasswarden.cli.inputs import read_policy
from glasswarden.cli.ledger.clusters import cluster_of
from glasswarden.cli.ledger.options import keys_option, ledger_option, opened
from glasswarden.cli.live import live_option
from glasswarden.cli.review_looked import Looking
from glasswarden.cli.selection import PAGE, attempts_for
from glasswarden.cli.times import MOMENT, now
from glasswarden.ledger.question import Question
from glasswarden.policy.policy import DEFAULT
from glasswarden.printable import printable

OWED_FOR: Final = timedelta(days=90)
"""How far back grants are looked for: what is owed does not end with the week."""

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
FORMATS: Final[Mapping[str, tuple[str, Callable[[Review], str]]]] = {
    "table": (".txt", render_text),
    "markdown": (".md", render_markdown),
    "html": (".html", render_page),
    "json": (".json", lambda review: as_json(review).decode()),
}
"""Each format: how a file with it is called, and what makes it."""


@click.command("review")
@ledger_option
@keys_option
@click.option(
    "--since",
    type=MOMENT,
    default="7d",
    show_default=True,
    help="Where the period begins; it is compared with the one just as long before.",
)
@click.option("--app", default="", metavar="NAME", help="Only this application.")
@click.option("--namespace", "-n", default="", metavar="NAME", help="Only this namespace.")
@click.option("--cluster", metavar="NAME", help="The cluster, where the ledger has several.")
@click.option("--git", default="", metavar="DIR|URL[@REV]", help="What is declared, for a scan.")
@click.option("--path", default="", metavar="PATH", help="The folder in --git.")
@click.option("--values", multiple=True, type=_FILE, help="Values for a Helm chart; repeatable.")
@live_option
@click.option("--no-live", is_flag=True, help="Go by the ledger alone; ask no cluster.")
@click.option("--kubeconfig", envvar="KUBECONFIG", type=_FILE, help="How to reach the cluster.")
@audit_log_option
@click.option(
    "--policy", "policy_file", envvar="GLASSWARDEN_POLICY", type=_FILE, help="The policy."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="By the output's name where it is not given; else table.",
)
@click.option("-o", "--output", type=_FILE, help="A file to write.")
def command(
    *,
    address: str,
    keys: Path | None,
    since: datetime,
    app: str,
    namespace: str,
    cluster: str | None,
    git: str,
    path: str,
    values: tuple[Path, ...],
    folder: Path | None,
    no_live: bool,
    kubeconfig: Path | None,
    audit_logs: tuple[Path, ...],
    policy_file: Path | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Review what drifts: what keeps coming back, what is owed, what nobody can explain.

    \b
      glasswarden review --since 7d --git . --path deploy/prod -o review.md

    From the ledger's records, the grants, the history that `glasswarden correlator` keeps, and a
    look at the cluster; with --audit-log, what no record explains is put down to whom the log
    proves. What could not be known is said at the end.
    """  # noqa: D301 - the backslash keeps click from joining the lines
    if since >= (time := now()):
        raise click.BadParameter("it lies in the future", param_hint="--since")
    period = Period(since, time)
    policy = read_policy(policy_file) if policy_file else DEFAULT
    with opened(address) as ledger:
        name = cluster_of(ledger, cluster or (policy.cluster if policy_file else None))
        question = Question(
            cluster=name or None,
            app=app or None,
            namespace=namespace or None,
            since=period.before,
            limit=PAGE,
        )
        attempts = attempts_for(ledger, question)
    with audit_log_from(audit_logs, policy) as audit:
        looking = Looking(
            address,
            keys,
            name,
            policy,
            kubeconfig,
            folder,
            namespace,
            app,
            audit,
            policy_file,
        )
        looking.unknown += [
            f"{each.what}: {each.why}" for each in (audit.incomplete if audit else ())
        ]
        seen = _seen(looking, period, git, path, values, is_live=not no_live)
        if not no_live:
            teams = looking.teams(attempts, seen.findings or (), git, path)
            seen = replace(seen, teams=teams, unknown=tuple(looking.unknown))
    _write(compose(period, attempts, seen, time), form or _by_name(output), output)


def _seen(
    looking: Looking,
    period: Period,
    git: str,
    path: str,
    values: tuple[Path, ...],
    *,
    is_live: bool,
) -> Seen:
    grants = looking.grants(min(period.before, period.until - OWED_FOR), is_live=is_live)
    episodes = looking.episodes(period.before)
    if not is_live:
        looking.unknown.append("What is live was not looked at (--no-live).")
    findings = looking.findings(git, path, values) if is_live else None
    ignores = looking.ignores(findings) if findings is not None and git else []
    return Seen(grants, findings, ignores, episodes, tuple(looking.unknown))


def _by_name(output: Path | None) -> str:
    suffix = output.suffix if output else ""
    return next((form for form, (ending, _) in FORMATS.items() if ending == suffix), "table")


def _write(review: Review, form: str, output: Path | None) -> None:
    text = FORMATS[form][1](review)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text)
    except OSError as error:
        raise click.ClickException(f"{output}: {error.strerror}") from error
    click.echo(f"Wrote {printable(str(output))}", err=True)
