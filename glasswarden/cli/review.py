"""`glasswarden review`: the weekly look at what keeps drifting.

What a review needs beside its records: looked up, and what could not be is remembered.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import click

from correlator.attribution.link import State
from correlator.audit.log import AuditLog
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import find_program, output_of
from correlator.digest.compose import (
    Episode,
    FieldKey,
    Period,
    ReviewEvidence,
    compose_review,
    find_ignored_since,
    teams_of,
)
from correlator.digest.formats import render_markdown, render_page, render_text
from correlator.digest.model import Ignore, Review, render_json
from correlator.episodes.episode import Episode as Stored
from correlator.episodes.open import open_history
from correlator.finding import Finding, parse_time
from correlator.grants import Grant, grant_attempts_since, grants_of, ref_of_attempt
from correlator.live.cluster import ClusterLive
from correlator.live.folder import FolderLive
from correlator.live.source import Kind, KindUnavailable, Scope
from correlator.live.source import Live as LiveObjects
from correlator.sources.ignore_rules import Ignore as Rule
from correlator.sources.reconcilers import read_reconcilers
from correlator.still_live import UNKNOWN, FieldCheck, LiveCheck, NotKnown
from glasswarden.cli.evidence import (
    PAGE,
    attempts_for,
    audit_log_from,
    audit_log_option,
    cluster_of,
    declared_in,
    keys_option,
    ledger_option,
    live_option,
    masks_at,
    opened,
)
from glasswarden.cli.inspection import CannotLook, Comparison
from glasswarden.cli.options import MOMENT, access_to, now, read_policy
from glasswarden.cluster.client import ApiServer, ApiServerError, NoAccess
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import Attempt
from glasswarden.policy.policy import DEFAULT, Policy
from glasswarden.terminal import escape_unprintable

MOST_OBJECTS: Final = 200
"""Objects that are looked at for the team that they are labelled with."""

_APPLICATION: Final = Kind("argoproj.io", "v1alpha1", "Application")


@dataclass(slots=True)
class Looking:
    """Looks at what is known beside the records, and remembers what could not be."""

    address: str
    keys: Path | None
    cluster: str
    policy: Policy
    kubeconfig: Path | None
    folder: Path | None
    """The objects as they were taken from the cluster, which is not asked then."""
    namespace: str
    app: str
    audit: AuditLog | None
    policy_file: Path | None
    unknown: list[str] = field(default_factory=list)

    def grants(self, since: datetime, *, is_live: bool) -> list[Grant]:
        """Return the grants since *since*, with what became of their fields."""
        with opened(self.address) as ledger:
            story = grant_attempts_since(ledger, since, self.cluster)
        wanted = [each for each in story if self._wants(each) and not self._is_lost(each)]
        return grants_of(wanted, self._standings() if is_live and wanted else lambda *_: UNKNOWN)

    def _wants(self, attempt: Attempt) -> bool:
        here = not self.namespace or attempt.namespace == self.namespace
        return here and (not self.app or attempt.app in ("", self.app))

    def _is_lost(self, attempt: Attempt) -> bool:
        """Tell whether the audit log shows that *attempt* was never stored."""
        witness = self.audit.index.witnesses.get(attempt.id) if self.audit else None
        return witness is not None and witness.stored is False

    def _standings(self) -> FieldCheck:
        try:
            live = self._live()
        except (NoAccess, ApiServerError) as error:
            self.unknown.append(f"What is still live of grants: {error}")
            return lambda *_: UNKNOWN

        def look(ref: Ref) -> Object | None:
            try:
                return live.one(ref)
            except KindUnavailable as error:
                raise NotKnown(str(ref)) from error

        return LiveCheck(look, masks=masks_at(self.keys, self.address))

    def _live(self) -> LiveObjects:
        scope = Scope(self.namespace, self.namespace or "default")
        if self.folder is not None:
            return FolderLive(self.folder, scope)
        return ClusterLive(ApiServer(access_to(self.kubeconfig), "glasswarden-review"), scope)

    def findings(self, git: str, path: str, values: tuple[Path, ...]) -> list[Finding] | None:
        """Return what differs from Git now; without Git, which direct writes still stand."""
        if not git:
            what = "Additions, missing objects and candidates for pruning"
            self.unknown.append(f"{what}: without --git, only recorded writes were looked at.")
        try:
            result = self._comparison().made(git, path, values)
        except CannotLook as error:
            self.unknown.append(f"What differs today: {error.message}")
            return None
        self.unknown += [f"{each.what}: {each.why}" for each in result.incomplete]
        return list(result.findings)

    def _comparison(self) -> Comparison:
        return Comparison(
            self.address,
            self.keys,
            self.cluster,
            self.policy,
            self.namespace,
            self.app,
            self.folder,
            self.kubeconfig,
            self.audit,
        )

    def ignores(self, findings: Sequence[Finding]) -> list[Ignore]:
        """Return the rules that leave differences alone, and for how many each is today."""
        try:
            reconcilers = read_reconcilers(self._live())
        except (NoAccess, ApiServerError) as error:
            self.unknown.append(f"What Applications ignore: {error}")
            return []
        ages = {rule.owner: self._ignored_since(rule.owner) for rule in reconcilers.ignores}
        found = [_ignore_of(rule, findings, ages[rule.owner]) for rule in reconcilers.ignores]
        found += _delegations(self.policy, self.policy_file, findings)
        if any(each.since is None for each in found):
            self.unknown.append("Since when some rules leave differences alone: nothing tells.")
        return found

    def _ignored_since(self, owner: Owner) -> datetime | None:
        # It was there a moment ago; its age is not worth more than that.
        with suppress(KindUnavailable, NoAccess, ApiServerError):
            for each in self._live().anywhere(_APPLICATION, owner.app):
                if ref_of(each).namespace == owner.namespace:
                    return find_ignored_since(each)
        return None

    def teams(
        self, attempts: Sequence[Attempt], findings: Sequence[Finding], git: str, path: str
    ) -> Mapping[str, str]:
        """Return the team of each application by the labels of what happened to it."""
        written = ((each.app, ref_of_attempt(each)) for each in attempts)
        differing = ((each.owner.app, each.ref) for each in findings if each.owner is not None)
        places = {
            (app, replace(ref, uid="", version="")): ref for app, ref in (*written, *differing)
        }
        wanted = [(app, ref) for (app, _), ref in places.items() if app][:MOST_OBJECTS]
        return teams_of(self._labelled(wanted, git, path))

    def _labelled(
        self, wanted: Sequence[tuple[str, Ref]], git: str, path: str
    ) -> Iterator[tuple[str, Object]]:
        try:
            declared = declared_in(git, path)[0] if git else None
            live = self._live()
        except (click.ClickException, NoAccess, ApiServerError):
            return  # said where what differs was asked for
        for app, ref in wanted:
            found = [declared(ref)] if declared else []
            with suppress(KindUnavailable, ApiServerError):
                found.append(live.one(ref))
            yield from ((app, each) for each in found if each is not None)

    def episodes(self, since: datetime) -> list[Episode] | None:
        """Return the history of findings that the service keeps, if it does."""
        try:
            with closing(open_history(self.address, create=False)) as history:
                stored = history.episodes(since, self.cluster)
        except LedgerError as error:
            self.unknown.append(f"The history of findings cannot be read: {error}")
            return None
        if not stored:
            why = "nothing drifted, or `glasswarden correlator` did not run"
            self.unknown.append(f"The history of findings is empty for both periods: {why}.")
            return None
        return [_episode(each) for each in stored if self._has(each)]

    def _has(self, stored: Stored) -> bool:
        last = stored.last
        return (not self.namespace or last.namespace == self.namespace) and (
            not self.app or last.app == self.app
        )


def _ignore_of(rule: Rule, findings: Sequence[Finding], since: datetime | None) -> Ignore:
    place = f"{rule.namespace or '*'}/{rule.name or '*'}"
    fields = [*map(str, rule.fields), *(f"what {each} holds" for each in sorted(rule.managers))]
    return Ignore(
        whose=f"{rule.owner.engine} {rule.owner.app}",
        what=f"{rule.kind or '*'} {place}: {', '.join(fields)}",
        covers=sum(map(rule.covers, findings)),
        since=since,
    )


def _delegations(policy: Policy, file: Path | None, findings: Sequence[Finding]) -> list[Ignore]:
    """Return the delegations that the policy file itself makes."""
    delegated = [
        line
        for each in findings
        if each.link is not None and each.link.state is State.DELEGATED
        for line in each.link.evidence
    ]
    return [
        Ignore(
            whose="the policy",
            what=f"{each.name}: {', '.join(map(str, each.fields))}",
            covers=sum(line.endswith(f" to {each.name}") for line in delegated),
            since=_written(file, each.name) if file else None,
        )
        for each in policy.document.delegations
    ]


def _written(file: Path, name: str) -> datetime | None:
    """Return when *name* came into *file* by its Git history; none where it has none."""
    try:
        git = find_program("git", "")
        log = ["log", "-1", "--format=%cI", f"-S{name}", "--", file.name]
        return parse_time(output_of([git, *log], file.absolute().parent).strip())
    except DeclaredUnreadable:
        return None


def _episode(stored: Stored) -> Episode:
    last = stored.last
    place = FieldKey(stored.cluster, last.group, last.kind, last.namespace, last.name, last.field)
    return Episode(place, last.app, last.team, stored.first_seen)


OWED_FOR: Final = timedelta(days=90)
"""How far back grants are looked for: what is owed does not end with the week."""

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
FORMATS: Final[Mapping[str, tuple[str, Callable[[Review], str]]]] = {
    "table": (".txt", render_text),
    "markdown": (".md", render_markdown),
    "html": (".html", render_page),
    "json": (".json", lambda review: render_json(review).decode()),
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
    _write(compose_review(period, attempts, seen, time), form or _by_name(output), output)


def _seen(
    looking: Looking,
    period: Period,
    git: str,
    path: str,
    values: tuple[Path, ...],
    *,
    is_live: bool,
) -> ReviewEvidence:
    grants = looking.grants(min(period.before, period.until - OWED_FOR), is_live=is_live)
    episodes = looking.episodes(period.before)
    if not is_live:
        looking.unknown.append("What is live was not looked at (--no-live).")
    findings = looking.findings(git, path, values) if is_live else None
    ignores = looking.ignores(findings) if findings is not None and git else []
    return ReviewEvidence(grants, findings, ignores, episodes, tuple(looking.unknown))


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
    click.echo(f"Wrote {escape_unprintable(str(output))}", err=True)
