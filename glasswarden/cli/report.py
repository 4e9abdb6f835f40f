"""`glasswarden report`: what was changed by hand, for whoever reviews the incident.

What a report needs beside its records: looked up, and what could not be is remembered.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from correlator.audit.log import AuditLog
from correlator.declared.git import parse_address
from correlator.report.compose import ReportContext, compose_report, unexplained_in, unrecorded_in
from correlator.report.csv import render_csv
from correlator.report.html import render_page
from correlator.report.markdown import render_markdown
from correlator.report.model import Integrity, Report, Unexplained, render_json, report_schema
from correlator.report.scope import ReportScope, report_scope_of
from correlator.report.text import title_of
from correlator.still_live import Answer, LiveCheck, NotKnown
from glasswarden.cli.evidence import (
    PAGE,
    Live,
    Snapshot,
    attempts_for,
    audit_log_from,
    audit_log_option,
    cluster_of,
    counted,
    declared_in,
    git_options,
    keys_option,
    ledger_option,
    live_option,
    looking,
    masks_at,
    opened,
    own_key,
    public_key_option,
    question_of,
    scope_of,
    selection_options,
)
from glasswarden.cli.inspection import CannotLook, Comparison
from glasswarden.cli.options import kubectl_of, kubectl_options, now, read_policy
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.errors import KeyUnusable
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.writes import find_attempts
from glasswarden.policy.policy import DEFAULT, Policy

MOST_FINDINGS: Final = 20
"""More findings of fsck than these are counted, not listed: the ledger itself is then the story."""

MOST_OBJECTS: Final = 200
"""More objects of a ticket than these are not asked about one by one."""


@dataclass(slots=True)
class Looking:
    """Looks around the records of one report."""

    ledger: Ledger
    address: str
    keys: Path | None
    question: Question
    policy: Policy
    audit: AuditLog | None
    git: str
    path: str
    folder: Path | None
    options: dict[str, Any]
    """kubectl's flags."""
    no_live: bool
    incomplete: list[str] = field(default_factory=list)

    @property
    def cluster(self) -> str:
        """The cluster that is looked at."""
        return self.question.cluster or ""

    def attempts(self) -> tuple[list[Attempt], ReportScope]:
        """Return the report's records, oldest first, and what it is about beside them.

        Who is refused names no ticket: under one, what was refused on its objects in its time is
        taken too.
        """
        own = attempts_for(self.ledger, self.question)
        circle = report_scope_of(scope_of(self.question), own)
        if not self.question.ticket:
            return own, circle
        beside = {each.id: each for each in (*own, *self._refused(circle))}
        return sorted(beside.values(), key=lambda each: (each.time, each.id)), circle

    def _refused(self, circle: ReportScope) -> Iterable[Attempt]:
        places = sorted(circle.objects)
        if len(places) > MOST_OBJECTS:
            rest = len(places) - MOST_OBJECTS
            self.incomplete.append(f"attempts refused on {rest} more objects: too many to ask for")
        for place in places[:MOST_OBJECTS]:
            question = Question(
                cluster=self.question.cluster,
                **place._asdict(),
                actor=self.question.actor,
                verdict="deny",
                since=circle.begin,
                until=circle.end,
                limit=PAGE,
            )
            yield from find_attempts(self.ledger, question)

    def around(self, attempts: list[Attempt], circle: ReportScope, now: datetime) -> ReportContext:
        """Return what is known beside *attempts*."""
        live = self._live()
        declared, unread = declared_in(self.git, self.path) if self.git else (None, [])
        self.incomplete += unread
        standing = LiveCheck(live or _nobody_looked, declared, masks_at(self.keys, self.address))
        around = ReportContext(
            check_field=standing,
            open_grants=_open_grants(self.ledger, attempts, now),
            unexplained=self._unexplained(circle),
            integrity=_not_verified(),
        )
        if self.git and not parse_address(self.git).is_remote:
            folder = ("--path", self.path) if self.path else ()
            around = replace(around, repository=("--repo", self.git, *folder))
        if self.audit is None:
            return around
        self.incomplete += [f"{each.what}: {each.why}" for each in self.audit.incomplete]
        return replace(
            around,
            witnesses=self.audit.index.witnesses,
            unrecorded=unrecorded_in(self.audit.watch.observed_writes, circle, self.cluster),
        )

    def unread(self, around: ReportContext) -> list[str]:
        """Return what could not be looked at, once *around* was asked for all it was asked for."""
        standing = around.check_field
        live = standing.live if isinstance(standing, LiveCheck) else None
        missed = live.unread if isinstance(live, Live | Snapshot) else {}
        told = [f"{ref} could not be read: {why}" for ref, why in missed.items()]
        return list(dict.fromkeys((*self.incomplete, *told)))

    def _live(self) -> Live | Snapshot | None:
        return None if self.no_live else looking(self.folder, lambda: kubectl_of(self.options))

    def _unexplained(self, circle: ReportScope) -> tuple[Unexplained, ...] | None:
        """Return what differs from Git without a record; none where that cannot be told."""
        try:
            self._refuse_to_guess()
            scope = circle.scope
            result = Comparison(
                self.address,
                self.keys,
                self.cluster,
                self.policy,
                scope.namespace,
                scope.app,
                self.folder,
                self._kubeconfig(),
                self.audit,
                circle.namespace,
            ).made(self.git, self.path)
        except CannotLook as error:
            self.incomplete.append(f"what differs from Git without a record: {error.message}")
            return None
        self.incomplete += [f"{each.what}: {each.why}" for each in result.incomplete]
        return unexplained_in(result.findings, circle, self.cluster)

    def _kubeconfig(self) -> Path | None:
        """Return the one that kubectl goes by, where one is named."""
        named = self.options["kubeconfig"] or os.environ.get("KUBECONFIG")
        return Path(named) if named else None

    def _refuse_to_guess(self) -> None:
        """Raise `CannotLook` where comparing would look at nothing, or at something else."""
        if not self.git:
            raise CannotLook("needs --git")
        if self.no_live:
            raise CannotLook("no cluster was asked (--no-live)")
        if self.folder is None and (self.options["context"] or self.options["as_"]):
            raise CannotLook("a comparison knows no --context and no --as; name a --kubeconfig")


def trusted_by(public_keys: tuple[str, ...], keys: Path | None, address: str) -> frozenset[str]:
    """Return whose signatures count: as was said, or by the key at hand, as for `ledger fsck`."""
    try:
        return frozenset(public_keys) or own_key(keys, address)
    except KeyUnusable:
        return frozenset()  # a folder that has only the keys of masks


def integrity_of(ledger: Ledger, trusted: frozenset[str]) -> Integrity:
    """Return what verifying the whole *ledger* gives, by the keys *trusted*, if any."""
    run = Fsck(ledger, Trust(trusted or None))
    findings = [str(finding) for finding in run.find_faults()]
    tally = run.tally
    read = f"{counted(tally.records, 'record')} in {counted(tally.chains, 'chain')}"
    if not findings:
        whose = "" if trusted else " by the keys found in it: none was given to trust"
        return Integrity(verdict=Answer.YES, statement=f"The ledger verifies, {read}{whose}.")
    more = [f"… and {len(findings) - MOST_FINDINGS} more"] if len(findings) > MOST_FINDINGS else []
    return Integrity(
        verdict=Answer.NO,
        statement=f"The ledger does NOT verify: {counted(len(findings), 'finding')}, {read}.",
        findings=(*findings[:MOST_FINDINGS], *more),
    )


def _not_verified() -> Integrity:
    return Integrity(
        verdict=Answer.UNKNOWN,
        statement="The ledger was not verified for this report; --verify does.",
    )


def _open_grants(ledger: Ledger, attempts: Iterable[Attempt], now: datetime) -> frozenset[str]:
    return frozenset(
        record.entry.grant
        for cluster in {attempt.cluster for attempt in attempts}
        for record in ledger.open_grants(cluster, now)
        if isinstance(record.entry, Attempt)
    )


def _nobody_looked(_ref: Ref) -> Object | None:
    raise NotKnown


FORMATS: Final = {"markdown": ".md", "html": ".html", "json": ".json", "csv": ".csv"}


@click.command("report")
@ledger_option
@keys_option
@public_key_option
@selection_options
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="By the output's name where it is not given; else markdown.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file to write."
)
@git_options
@live_option
@click.option("--no-live", is_flag=True, help="Do not ask the cluster what is still live.")
@kubectl_options
@audit_log_option
@click.option(
    "--policy",
    "policy_file",
    envvar="GLASSWARDEN_POLICY",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The policy, for who the emergency group is and what is guarded; with --audit-log.",
)
@click.option("--verify", is_flag=True, help="Verify the whole ledger, as `ledger fsck` does.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _option, wanted: _print_schema(ctx) if wanted else None,
    help="Print the JSON Schema of --format json, and end.",
)
def command(
    *,
    address: str,
    keys: Path | None,
    public_keys: tuple[str, ...],
    form: str | None,
    output: Path | None,
    git: str | None,
    path: str,
    folder: Path | None,
    no_live: bool,
    audit_logs: tuple[Path, ...],
    policy_file: Path | None,
    verify: bool,
    **options: Any,  # noqa: ANN401 - which records, and kubectl's flags
) -> None:
    """Report what was changed by hand: who, when, why, is it still live, is it in Git.

    \b
      glasswarden report --ticket INC-42 -o report.html

    What is still live is asked of the cluster through kubectl, what Git declares of --git. With
    both, what differs and no record explains is told too; with --audit-log, what got past the
    webhook. About a ticket, what was refused or got past on its objects in its time is part of it.
    What could not be looked at is said in the report.
    """  # noqa: D301 - the backslash keeps click from joining the lines
    question = question_of(options)
    policy = read_policy(policy_file) if policy_file else DEFAULT
    with opened(address) as ledger, audit_log_from(audit_logs, policy) as audit:
        named = question.cluster or (policy.cluster if policy_file else None)
        # What one cluster has live says nothing about a write in another.
        is_one = audit is not None or not no_live
        question = replace(question, cluster=cluster_of(ledger, named) if is_one else named)
        looking = Looking(
            ledger,
            address,
            keys,
            question,
            policy,
            audit,
            git or "",
            path,
            folder,
            options,
            no_live,
        )
        made = now()
        attempts, circle = looking.attempts()
        around = looking.around(attempts, circle, made)
        if verify:
            trusted = trusted_by(public_keys, keys, address)
            around = replace(around, integrity=integrity_of(ledger, trusted))
        report = compose_report(circle.scope, attempts, around, made)
        report = msgspec.structs.replace(report, incomplete=tuple(looking.unread(around)))
    _write(_rendered(report, form or _by_name(output), title_of(circle.scope)), output)


def _print_schema(ctx: click.Context) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(report_schema()), indent=2).decode())
    ctx.exit()


def _by_name(output: Path | None) -> str:
    suffix = output.suffix if output else ""
    return next((form for form, ending in FORMATS.items() if ending == suffix), "markdown")


def _rendered(report: Report, form: str, title: str) -> str:
    renderers = {
        "markdown": lambda: render_markdown(report, title),
        "html": lambda: render_page(report, title),
        "json": lambda: render_json(report).decode(),
        "csv": lambda: render_csv(report),
    }
    return renderers[form]()


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text)
    except OSError as error:
        raise click.ClickException(f"{output}: {error.strerror}") from error
    click.echo(f"Wrote {output}", err=True)
