"""From records to a report. Pure: what stands in the cluster and in Git comes as an argument.

What differs from Git and no record explains, as a report tells it.

What the audit log shows around the writes of a report, and no record speaks of.
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
from correlator.audit.observed_write import Sighting, Sort, verdict_of
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
from correlator.report.scope import Circle
from correlator.report.text import summary_of
from correlator.still_live import (
    OBJECT,
    UNKNOWN,
    Answer,
    Standing,
    Standings,
    Written,
    last_words,
    writes_in,
)
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Ref
from glasswarden.ledger.record import Attempt, ChangedField, Cut
from glasswarden.ledger.writes import writes_of


def unrecorded_in(sightings: Iterable[Sighting], circle: Circle, cluster: str) -> tuple[Seen, ...]:
    """Return those of *sightings*, all from *cluster*, that belong to a report."""
    return tuple(_seen(each, cluster) for each in sightings if circle.saw(each))


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


def target(subject: Subject) -> list[str]:
    """Return how a command line names *subject*."""
    name = f"{subject.kind.lower()}/{subject.name}"
    return [name, "-n", subject.namespace] if subject.namespace else [name]


def _seen(sighting: Sighting, cluster: str) -> Seen:
    subject, verdict = subject_in(cluster, sighting.ref), verdict_of(sighting)
    return Seen(
        time=sighting.time,
        sort=sighting.sort,
        subject=subject,
        actor=sighting.actor,
        impersonator=sighting.user if sighting.user != sighting.actor else "",
        controller=sighting.by_controller,
        address=sighting.source,
        user_agent=sighting.user_agent,
        did=sighting.did,
        what=verdict.reason,
        response=verdict.response,
        command=verdict.verify if sighting.sort is Sort.GUARD else _who_set_what(sighting, subject),
        audit_id=sighting.audit_id,
    )


def _who_set_what(sighting: Sighting, subject: Subject) -> str:
    """Return the command that shows what of a write is left, by the same log."""
    if sighting.did == "deleted it":
        return shlex.join(["glasswarden", "history", *target(subject)])
    return shlex.join(["glasswarden", "blame", *target(subject), "--audit-log", "FILE"])


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a report needs to know beside its records."""

    standing: Standings = lambda _attempt, _change: UNKNOWN
    open_grants: frozenset[str] = frozenset()
    witnesses: Mapping[str, Witness] = field(default_factory=dict)
    """What the audit log says about records, by their ids."""

    unexplained: tuple[Unexplained, ...] | None = None
    """What differs from Git and no record explains; none where nobody compared."""

    unrecorded: tuple[Seen, ...] = ()
    """What the audit log shows beside the records."""

    integrity: Integrity = Integrity(  # noqa: RUF009 - frozen
        verdict=Answer.UNKNOWN, statement="The ledger was not verified for this report."
    )
    incomplete: tuple[str, ...] = ()
    repository: tuple[str, ...] = ("--repo", "DIR", "--path", "FOLDER")
    """How a command names the files that declare what was changed."""


def compose(
    scope: Scope, attempts: Iterable[Attempt], around: Surroundings, now: datetime
) -> Report:
    """Return the report about *attempts*, which are given oldest first."""
    tries = writes_of(attempts)
    standing = _standings(tries, around)
    writes = tuple(_write(group, standing, around) for group in tries)
    draft = Report(
        made=now,
        scope=scope,
        summary=(),
        writes=writes,
        unexplained=around.unexplained or (),
        unrecorded=around.unrecorded,
        obligations=tuple(_obligations(writes, around)),
        integrity=around.integrity,
        incomplete=around.incomplete,
    )
    return msgspec.structs.replace(draft, summary=summary_of(draft))


_Field: TypeAlias = tuple[str, ...]
_Standing: TypeAlias = dict[tuple[str, str], Standing]
"""How what a record changed at a path stands; of what was set again later there is nothing."""


def _standings(tries: Sequence[tuple[Attempt, ...]], around: Surroundings) -> _Standing:
    written: dict[_Field, list[Written]] = {}
    stored = {group[-1].id: _stored(group, around) for group in tries}
    for attempt in (group[-1] for group in tries):
        if attempt.verdict == "allow" and stored[attempt.id] is not Answer.NO:
            for change in writes_in(attempt):
                written.setdefault(_field(attempt, change), []).append((attempt, change))
    return {
        (attempt.id, change.path): standing
        for writes in written.values()
        for attempt, change, standing in last_words(
            reversed(writes), around.standing, lambda each: stored[each.id] is Answer.YES
        )
    }


def _field(attempt: Attempt, change: ChangedField) -> _Field:
    if change.path == OBJECT:
        # What is created has no uid yet, and what comes after it has another one.
        return attempt.cluster, attempt.group, attempt.kind, attempt.namespace, attempt.name
    return attempt.cluster, attempt.object_uid, change.path


def _stored(group: tuple[Attempt, ...], around: Surroundings) -> Answer:
    witness = _witness(group, around)
    return _STORED[witness.stored if witness else None]


def _witness(group: tuple[Attempt, ...], around: Surroundings) -> Witness | None:
    return around.witnesses.get(group[-1].id)


def _write(group: tuple[Attempt, ...], standing: _Standing, around: Surroundings) -> Write:
    attempt = group[-1]
    witness = _witness(group, around)
    return Write(
        records=tuple(each.id for each in group),
        time=attempt.time,
        subject=subject_of(attempt),
        owner=_owner(attempt),
        actor=attempt.actor,
        impersonator=witness.user if witness and witness.user != attempt.actor else "",
        address=witness.source if witness else "",
        user_agent=witness.user_agent if witness else "",
        stored=_stored(group, around),
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
            _change(attempt, change, standing, is_lost=_stored(group, around) is Answer.NO)
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


def _owner(attempt: Attempt) -> str:
    app = f"{attempt.app_namespace}/{attempt.app}" if attempt.app_namespace else attempt.app
    return " ".join(part for part in (attempt.engine, attempt.app_kind, app) if part)


def _change(
    attempt: Attempt, change: ChangedField, standing: _Standing, *, is_lost: bool
) -> Change:
    told: dict[str, Any] = {}
    for name in ("old", "new"):
        told[name] = getattr(change, name)
        told[f"{name}_note"] = _note(
            getattr(change, f"{name}_masked"), getattr(change, f"{name}_cut")
        )
    if change.path == OBJECT:
        told[_WHOLE.get(attempt.operation, "new_note")] = "(the object)"
    if attempt.verdict == "allow" and not is_lost:
        found = standing.get((attempt.id, change.path))
        told |= {"live": found.live, "git": found.git} if found else {"superseded": True}
    if is_lost:
        told["live"] = Answer.NO
    return Change(path=change.path, manager=change.manager, **told)


_WHOLE: Final = {"CREATE": "new_note", "DELETE": "old_note"}


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
                command=_command(write, change, around),
            )
    for each in around.unexplained or ():
        yield Obligation(
            subject=each.subject, path=each.path, why=_unlike(each), command=each.command
        )
    for seen in around.unrecorded if around.unexplained is None else ():
        why = f"written without a record ({seen.sort}); nobody compared with Git what stands there"
        yield Obligation(subject=seen.subject, path=OBJECT, why=why, command=seen.command)


def _unlike(each: Unexplained) -> str:
    where = f"; put it back, or change {each.origin}" if each.origin else ""
    return f"not as Git says, {each.why}{where}"


def _why(write: Write, change: Change, around: Surroundings) -> str:
    is_gone = change.path == OBJECT and write.operation == "DELETE"
    live = "still gone" if is_gone else "still live"
    told = {Answer.NO: "not in Git", Answer.UNKNOWN: "not known to be in Git"}
    where = "still in Git" if is_gone and change.git is Answer.NO else told[change.git]
    if write.grant and write.grant in around.open_grants:
        return f"{live}, {where}; the grant is open"
    if write.grant:
        return f"overdue: {live}, {where}, and the grant has ended"
    return f"{live}, {where}"


def _command(write: Write, change: Change, around: Surroundings) -> str:
    """Return what to type next: back to Git while the fix is needed, or back from it."""
    named = target(write.subject)
    if change.path == OBJECT and write.operation == "CREATE":
        # Git needs a manifest of its own for it, which nobody can derive from a change.
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
    findings: Iterable[Finding], circle: Circle, cluster: str
) -> tuple[Unexplained, ...]:
    """Return those of *findings*, all from *cluster*, that belong to a report and lack a record."""
    return tuple(_unexplained(findings, circle, cluster))


def _unexplained(
    findings: Iterable[Finding], circle: Circle, cluster: str
) -> Iterator[Unexplained]:
    for each in findings:
        link, verdict = each.link, each.verdict
        if link is None or link.state is not State.UNEXPLAINED or not circle.drifted(each):
            continue
        if verdict is not None and verdict.response is Response.IGNORE:
            continue
        yield Unexplained(
            subject=subject_in(cluster, each.ref),
            path=str(each.field),
            declared=_value(each.declared),
            live=_value(each.live),
            why=link.why,
            actor=link.actor,
            time=link.time or each.since,
            origin=each.origin,
            command=revert_command(each) or (verdict.verify if verdict else ""),
        )


def _value(value: Value) -> object:
    return UNSET if value is ABSENT else value
