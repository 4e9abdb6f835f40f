"""From records to a report. Pure: what stands in the cluster and in Git comes as an argument."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from correlator.link.drifted import Witness
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
from correlator.report.summary import summary_of
from correlator.standing import UNKNOWN, Answer, Standings
from glasswarden.ledger.attempts import writes_of
from glasswarden.ledger.record import Attempt, ChangedField, Cut


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a report needs to know beside its records."""

    standing: Standings = lambda _attempt, _change: UNKNOWN
    open_grants: frozenset[str] = frozenset()
    witnesses: Mapping[str, Witness] = field(default_factory=dict)
    """What the audit log says about records, by their ids."""

    unexplained: tuple[Unexplained, ...] = ()
    unrecorded: tuple[Seen, ...] = ()
    """What the audit log shows beside the records."""

    integrity: Integrity = Integrity(  # noqa: RUF009 - frozen
        verdict=Answer.UNKNOWN, statement="The ledger was not verified for this report."
    )
    incomplete: tuple[str, ...] = ()


def compose(
    scope: Scope, attempts: Iterable[Attempt], around: Surroundings, now: datetime
) -> Report:
    """Return the report about *attempts*, which are given oldest first."""
    tries = writes_of(attempts)
    last = _last_words(tries)
    writes = tuple(_write(group, last, around) for group in tries)
    draft = Report(
        made=now,
        scope=scope,
        summary=(),
        writes=writes,
        unexplained=around.unexplained,
        unrecorded=around.unrecorded,
        obligations=tuple(_obligations(writes, around)),
        integrity=around.integrity,
        incomplete=around.incomplete,
    )
    return msgspec.structs.replace(draft, summary=summary_of(draft))


_Field: TypeAlias = tuple[str, str, str]


def _last_words(tries: Sequence[tuple[Attempt, ...]]) -> dict[_Field, str]:
    """Return, for each field that was changed, the record that changed it last."""
    return {
        _field(group[-1], change): group[-1].id
        for group in tries
        if group[-1].verdict == "allow"
        for change in group[-1].changes
    }


def _field(attempt: Attempt, change: ChangedField) -> _Field:
    return attempt.cluster, attempt.object_uid, change.path


def _write(group: tuple[Attempt, ...], last: dict[_Field, str], around: Surroundings) -> Write:
    attempt = group[-1]
    witness = around.witnesses.get(attempt.id)
    return Write(
        records=tuple(each.id for each in group),
        time=attempt.time,
        subject=subject_of(attempt),
        owner=_owner(attempt),
        actor=attempt.actor,
        impersonator=witness.user if witness and witness.user != attempt.actor else "",
        address=witness.source if witness else "",
        user_agent=witness.user_agent if witness else "",
        stored=_STORED[witness.stored if witness else None],
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
        changes=tuple(_change(attempt, change, last, around) for change in attempt.changes),
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


def _owner(attempt: Attempt) -> str:
    app = f"{attempt.app_namespace}/{attempt.app}" if attempt.app_namespace else attempt.app
    return " ".join(part for part in (attempt.engine, attempt.app_kind, app) if part)


def _change(
    attempt: Attempt, change: ChangedField, last: dict[_Field, str], around: Surroundings
) -> Change:
    stored: dict[str, Any] = {}
    for name in ("old", "new"):
        stored[name] = getattr(change, name)
        stored[f"{name}_note"] = _note(
            getattr(change, f"{name}_masked"), getattr(change, f"{name}_cut")
        )
    if attempt.verdict == "allow":
        stored["superseded"] = last[_field(attempt, change)] != attempt.id
        if not stored["superseded"]:
            standing = around.standing(attempt, change)
            stored |= {"live": standing.live, "git": standing.git}
    return Change(path=change.path, manager=change.manager, **stored)


def _note(masked: str, cut: Cut | None) -> str:
    if masked:
        return "(hidden)"
    return f"({cut.length} bytes, sha256 {cut.sha256[:12]}…)" if cut is not None else ""


def _obligations(writes: Sequence[Write], around: Surroundings) -> Iterable[Obligation]:
    """Yield what is left to do: every change that is live and not in Git has to go one way."""
    for write in writes:
        for change in write.changes:
            if write.is_denied or change.superseded or change.live is not Answer.YES:
                continue
            if change.git is Answer.YES:
                continue
            yield Obligation(
                subject=write.subject,
                path=change.path,
                why=_why(write, change, around),
                command=_command(write, around),
            )


def _why(write: Write, change: Change, around: Surroundings) -> str:
    where = "not in Git" if change.git is Answer.NO else "not known to be in Git"
    if write.grant and write.grant in around.open_grants:
        return f"still live, {where}; the grant is open"
    if write.grant:
        return f"overdue: still live, {where}, and the grant has ended"
    return f"still live, {where}"


def _command(write: Write, around: Surroundings) -> str:
    """Return what to type next: back to Git while the fix is needed, or back from it."""
    if write.ticket:
        return f"glasswarden backport --ticket {shlex.quote(write.ticket)} --repo DIR"
    if write.grant in around.open_grants:
        return f"kubectl glasswarden close {_target(write.subject)} --outcome backported"
    return f"glasswarden blame {_target(write.subject)}"


def _target(subject: Subject) -> str:
    name = f"{subject.kind.lower()}/{subject.name}"
    return f"{name} -n {subject.namespace}" if subject.namespace else name
