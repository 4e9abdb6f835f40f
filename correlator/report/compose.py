"""From records to a report. Pure: the state of the cluster and of Git comes as an argument.

A report also contains what differs from Git and no record explains, and the writes that only the
audit log shows.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import UNSET

from correlator.attribution.context import Witness
from correlator.attribution.link import State
from correlator.audit.observed_write import ObservationKind, ObservedWrite, verdict_of
from correlator.classify.advice import revert_command
from correlator.finding import Finding, Response
from correlator.report.model import (
    Change,
    Integrity,
    Obligation,
    Report,
    Scope,
    Seen,
    Subject,
    Unexplained,
    Write,
)
from correlator.report.scope import ReportScope
from correlator.report.text import summary_of
from correlator.still_live import (
    OBJECT,
    UNKNOWN,
    Answer,
    FieldCheck,
    FieldState,
    Written,
    last_changes,
    writes_in,
)
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Ref
from glasswarden.ledger.record import Attempt, ChangedField, Cut
from glasswarden.ledger.writes import writes_of


def unrecorded_in(
    observed_writes: Iterable[ObservedWrite], report_scope: ReportScope, cluster: str
) -> tuple[Seen, ...]:
    """Return those of *sightings*, all from *cluster*, that belong to a report."""
    return tuple(
        _seen_of(each, cluster) for each in observed_writes if report_scope.includes_write(each)
    )


def subject_in(cluster: str, ref: Ref) -> Subject:
    """Return the object *ref* as a report names it."""
    return Subject(
        cluster=cluster,
        group=ref.group,
        version=ref.version,
        kind=ref.kind,
        namespace=ref.namespace,
        name=ref.name,
        uid=ref.uid,
    )


def target_args_of(subject: Subject) -> list[str]:
    """Return the arguments that name *subject* on a command line."""
    name = f"{subject.kind.lower()}/{subject.name}"
    return [name, "-n", subject.namespace] if subject.namespace else [name]


def _seen_of(observed: ObservedWrite, cluster: str) -> Seen:
    subject, verdict = subject_in(cluster, observed.ref), verdict_of(observed)
    return Seen(
        time=observed.time,
        sort=observed.sort,
        subject=subject,
        actor=observed.actor,
        impersonator=observed.user if observed.user != observed.actor else "",
        controller=observed.by_controller,
        address=observed.source,
        user_agent=observed.user_agent,
        did=observed.did,
        what=verdict.reason,
        response=verdict.response,
        command=verdict.verify
        if observed.sort is ObservationKind.GUARD
        else _follow_up_command_of(observed, subject),
        audit_id=observed.audit_id,
    )


def _follow_up_command_of(observed: ObservedWrite, subject: Subject) -> str:
    """Return the command that shows what is left of a write, by the same log."""
    if observed.did == "deleted it":
        return shlex.join(["glasswarden", "history", *target_args_of(subject)])
    return shlex.join(["glasswarden", "blame", *target_args_of(subject), "--audit-log", "FILE"])


@dataclass(frozen=True, slots=True)
class ReportContext:
    """The evidence for a report beside its records."""

    check_field: FieldCheck = lambda _attempt, _change: UNKNOWN
    open_grants: frozenset[str] = frozenset()
    witnesses: Mapping[str, Witness] = field(default_factory=dict)
    """What the audit log says about records, by their ids."""

    unexplained: tuple[Unexplained, ...] | None = None
    """What differs from Git and no record explains; none where it was not compared."""

    unrecorded: tuple[Seen, ...] = ()
    """What the audit log shows beside the records."""

    integrity: Integrity = Integrity(  # noqa: RUF009 - frozen
        verdict=Answer.UNKNOWN, statement="The ledger was not verified for this report."
    )
    incomplete: tuple[str, ...] = ()
    repository: tuple[str, ...] = ("--repo", "DIR", "--path", "FOLDER")
    """How a command names the files that declare what was changed."""


def compose_report(
    scope: Scope, attempts: Iterable[Attempt], around: ReportContext, now: datetime
) -> Report:
    """Return the report about *attempts*, which are given oldest first."""
    tries = writes_of(attempts)
    states = _states_of(tries, around)
    writes = tuple(_write_of(group, states, around) for group in tries)
    draft = Report(
        made=now,
        scope=scope,
        summary=(),
        writes=writes,
        unexplained=around.unexplained or (),
        unrecorded=around.unrecorded,
        obligations=tuple(_find_obligations(writes, around)),
        integrity=around.integrity,
        incomplete=around.incomplete,
    )
    return msgspec.structs.replace(draft, summary=summary_of(draft))


_Field: TypeAlias = tuple[str, ...]
_States: TypeAlias = dict[tuple[str, str], FieldState]
"""The state of what a record changed at a path; without what was set again later."""


def _states_of(tries: Sequence[tuple[Attempt, ...]], around: ReportContext) -> _States:
    written: dict[_Field, list[Written]] = {}
    stored = {group[-1].id: _stored_of(group, around) for group in tries}
    for attempt in (group[-1] for group in tries):
        if attempt.verdict == "allow" and stored[attempt.id] is not Answer.NO:
            for change in writes_in(attempt):
                written.setdefault(_field_key_of(attempt, change), []).append((attempt, change))
    return {
        (attempt.id, change.path): states
        for writes in written.values()
        for attempt, change, states in last_changes(
            reversed(writes), around.check_field, lambda each: stored[each.id] is Answer.YES
        )
    }


def _field_key_of(attempt: Attempt, change: ChangedField) -> _Field:
    if change.path == OBJECT:
        # What is created has no uid yet, and what comes after it has another one.
        return attempt.cluster, attempt.group, attempt.kind, attempt.namespace, attempt.name
    return attempt.cluster, attempt.object_uid, change.path


def _stored_of(group: tuple[Attempt, ...], around: ReportContext) -> Answer:
    witness = _witness_of(group, around)
    return _STORED[witness.stored if witness else None]


def _witness_of(group: tuple[Attempt, ...], around: ReportContext) -> Witness | None:
    return around.witnesses.get(group[-1].id)


def _write_of(group: tuple[Attempt, ...], states: _States, around: ReportContext) -> Write:
    attempt = group[-1]
    witness = _witness_of(group, around)
    return Write(
        records=tuple(each.id for each in group),
        time=attempt.time,
        subject=subject_of(attempt),
        owner=_owner_of(attempt),
        actor=attempt.actor,
        impersonator=witness.user if witness and witness.user != attempt.actor else "",
        address=witness.source if witness else "",
        user_agent=witness.user_agent if witness else "",
        stored=_stored_of(group, around),
        groups=attempt.groups,
        verb=attempt.inferred_verb,
        operation=attempt.operation,
        subresource=attempt.subresource,
        manager=attempt.manager,
        verdict=attempt.verdict,
        clause=attempt.clause,
        mode=attempt.mode,
        ticket=attempt.ticket,
        reason=attempt.reason,
        grant=attempt.grant,
        grant_act=attempt.grant_act,
        grant_expires=attempt.grant_expires,
        approver=attempt.approver,
        outcome=attempt.outcome,
        changes=tuple(
            _change_of(attempt, change, states, is_lost=_stored_of(group, around) is Answer.NO)
            for change in writes_in(attempt)
        ),
        unlisted=attempt.unlisted,
    )


_STORED: Final = {True: Answer.YES, False: Answer.NO, None: Answer.UNKNOWN}


def subject_of(attempt: Attempt) -> Subject:
    """Return the object that *attempt* was about."""
    return Subject(
        cluster=attempt.cluster,
        group=attempt.group,
        version=attempt.version,
        kind=attempt.kind,
        namespace=attempt.namespace,
        name=attempt.name,
        uid=attempt.object_uid,
    )


def _owner_of(attempt: Attempt) -> str:
    app = f"{attempt.app_namespace}/{attempt.app}" if attempt.app_namespace else attempt.app
    return " ".join(part for part in (attempt.engine, attempt.app_kind, app) if part)


def _change_of(attempt: Attempt, change: ChangedField, states: _States, *, is_lost: bool) -> Change:
    values: dict[str, Any] = {}
    for name in ("old", "new"):
        values[name] = getattr(change, name)
        values[f"{name}_note"] = _note_of(
            getattr(change, f"{name}_masked"), getattr(change, f"{name}_cut")
        )
    if change.path == OBJECT:
        values[_WHOLE.get(attempt.operation, "new_note")] = "(the object)"
    if attempt.verdict == "allow" and not is_lost:
        found = states.get((attempt.id, change.path))
        values |= {"live": found.live, "git": found.git} if found else {"superseded": True}
    if is_lost:
        values["live"] = Answer.NO
    return Change(path=change.path, manager=change.manager, **values)


_WHOLE: Final = {"CREATE": "new_note", "DELETE": "old_note"}


def _note_of(masked: str, cut: Cut | None) -> str:
    if masked:
        return "(hidden)"
    return f"({cut.length} bytes, sha256 {cut.sha256[:12]}…)" if cut is not None else ""


def _find_obligations(writes: Sequence[Write], around: ReportContext) -> Iterable[Obligation]:
    """Yield the open follow-ups: every change that is live and not in Git needs one."""
    for write in writes:
        for change in write.changes:
            if write.is_denied or change.superseded or change.live is not Answer.YES:
                continue
            if change.git is Answer.YES:
                continue
            yield Obligation(
                subject=write.subject,
                path=change.path,
                why=_describe_obligation(write, change, around),
                command=_command_of(write, change, around),
            )
    for each in around.unexplained or ():
        yield Obligation(
            subject=each.subject,
            path=each.path,
            why=_describe_unexplained(each),
            command=each.command,
        )
    for seen in around.unrecorded if around.unexplained is None else ():
        why = f"written without a record ({seen.sort}); not compared with Git"
        yield Obligation(subject=seen.subject, path=OBJECT, why=why, command=seen.command)


def _describe_unexplained(each: Unexplained) -> str:
    where = f"; put it back, or change {each.origin}" if each.origin else ""
    return f"not as Git says, {each.why}{where}"


def _describe_obligation(write: Write, change: Change, around: ReportContext) -> str:
    is_deleted = change.path == OBJECT and write.operation == "DELETE"
    live = "still deleted" if is_deleted else "still live"
    in_git = {Answer.NO: "not in Git", Answer.UNKNOWN: "not known to be in Git"}
    where = "still in Git" if is_deleted and change.git is Answer.NO else in_git[change.git]
    if write.grant and write.grant in around.open_grants:
        return f"{live}, {where}; the grant is open"
    if write.grant:
        return f"overdue: {live}, {where}, and the grant has ended"
    return f"{live}, {where}"


def _command_of(write: Write, change: Change, around: ReportContext) -> str:
    """Return the next command: merge the fix into Git, or revert it."""
    named = target_args_of(write.subject)
    if change.path == OBJECT and write.operation == "CREATE":
        # Git needs a new manifest for it, which cannot be derived from a change.
        return shlex.join(["kubectl", "get", *named, "-o", "yaml"])
    if write.ticket:
        prune = ["--prune"] if change.path == OBJECT else []
        return shlex.join(
            ["glasswarden", "backport", "--ticket", write.ticket, *around.repository, *prune]
        )
    if write.grant in around.open_grants:
        return shlex.join(["kubectl", "glasswarden", "close", *named, "--outcome", "backported"])
    return shlex.join(["glasswarden", "blame", *named])


def unexplained_in(
    findings: Iterable[Finding], report_scope: ReportScope, cluster: str
) -> tuple[Unexplained, ...]:
    """Return those of *findings*, all from *cluster*, that belong to a report and lack a record."""
    return tuple(_select_unexplained(findings, report_scope, cluster))


def _select_unexplained(
    findings: Iterable[Finding], report_scope: ReportScope, cluster: str
) -> Iterator[Unexplained]:
    for each in findings:
        link, verdict = each.link, each.verdict
        if (
            link is None
            or link.state is not State.UNEXPLAINED
            or not report_scope.includes_finding(each)
        ):
            continue
        if verdict is not None and verdict.response is Response.IGNORE:
            continue
        yield Unexplained(
            subject=subject_in(cluster, each.ref),
            path=str(each.field),
            declared=_json_value_of(each.declared),
            live=_json_value_of(each.live),
            why=link.why,
            actor=link.actor,
            time=link.time or each.since,
            origin=each.origin,
            command=revert_command(each) or (verdict.verify if verdict else ""),
        )


def _json_value_of(value: Value) -> object:
    return UNSET if value is ABSENT else value
