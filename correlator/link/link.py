"""The link: who drifted a field, by which record; or why that cannot be said.

Read newest first, the records of an object are its history backwards. The first admitted write to
the field decides: if it set what stands there now, it is the cause, unless managedFields name a
later writer; if it set something else, whoever came after was not recorded, and no name is given. A
wrong name is worse than none.

Confidence follows from the evidence alone:

- `certain`: the record set the live value, and the object's managedFields or the API server's audit
  log say that this write was stored;
- `likely`: the record set the live value, and nothing speaks for or against it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from correlator.link.agreement import Agreement, agreement, same, undone
from correlator.link.drifted import Drifted, Knowledge
from correlator.link.holders import Testimony, since, testimony
from glasswarden.kube.compare import Value
from glasswarden.kube.paths import ROOT
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt

ALLOWED: Final = "allow"


class State(StrEnum):
    """How a finding ends."""

    EXPLAINED = "explained"
    DELEGATED = "delegated"
    UNEXPLAINED = "unexplained"


class Confidence(StrEnum):
    """How sure a link is; see the module's text for the rule."""

    CERTAIN = "certain"
    LIKELY = "likely"
    NONE = ""


@dataclass(frozen=True, slots=True)
class Link:
    """What is known about the cause of one finding."""

    state: State
    why: str = ""
    """Why nothing explains it; empty where something does."""

    records: tuple[str, ...] = ()
    """The ids of the records that explain it, the decisive one first."""

    actor: str = ""
    impersonator: str = ""
    """Who really was behind the actor, where the audit log shows it."""

    manager: str = ""
    time: datetime | None = None
    ticket: str = ""
    grant: str = ""
    evidence: tuple[str, ...] = ()
    confidence: Confidence = Confidence.NONE


def link(
    drifted: Drifted, attempts: Iterable[Attempt], knowledge: Knowledge, masks: Masks | None = None
) -> Link:
    """Return the cause of *drifted*; *attempts* are its object's, newest first, read as needed."""
    found = _explained(drifted, attempts, knowledge, masks)
    if found.state is State.EXPLAINED or not drifted.delegate:
        return found
    holders = ", ".join(sorted({entry.manager for entry in drifted.holders}))
    evidence = (f"the policy delegates {drifted.path} to {drifted.delegate}",)
    return Link(State.DELEGATED, manager=holders, time=since(drifted.holders), evidence=evidence)


def _explained(
    drifted: Drifted, attempts: Iterable[Attempt], knowledge: Knowledge, masks: Masks | None
) -> Link:
    """Walk the history backwards, taking back what each write did to a part of the field."""
    value, parts = drifted.live, list[Attempt]()
    for attempt in _candidates(drifted, attempts, knowledge):
        said = _said(attempt, drifted, value, masks)
        if said is Agreement.WHOLE:
            return _by([*parts, attempt], drifted, knowledge)
        if said is Agreement.OTHER:
            return _unexplained(drifted, knowledge, _CAME_AFTER.format(attempt.id))
        if said is Agreement.UNTOLD:
            return _unexplained(drifted, knowledge, _UNTOLD.format(attempt.id))
        if said is Agreement.PART:
            parts.append(attempt)
            value = _before(attempt, drifted, value)
            if same(value, drifted.declared):
                return _by(parts, drifted, knowledge)
    return _unexplained(drifted, knowledge, _nothing_recorded(drifted, knowledge))


_CAME_AFTER: Final = (
    "record {} set another value: what came after it was not recorded, or it was never stored"
)
_UNTOLD: Final = "record {} set the field, but its value is masked or cut and cannot be compared"


def _candidates(
    drifted: Drifted, attempts: Iterable[Attempt], knowledge: Knowledge
) -> Iterator[Attempt]:
    """Yield those of *attempts* that can have made the object what it is."""
    uid = drifted.ref.uid
    for attempt in attempts:
        if attempt.cluster != drifted.cluster:
            continue
        uid = uid or attempt.object_uid  # of an object that is gone: the last one of that name
        if attempt.verdict != ALLOWED or attempt.object_uid != uid:
            continue
        witness = knowledge.witnesses.get(attempt.id)
        if witness is None or witness.stored:
            yield attempt


def _said(attempt: Attempt, drifted: Drifted, value: Value, masks: Masks | None) -> Agreement:
    """Return how *attempt* relates to *value*; of several changes the one that says most."""
    if drifted.path == ROOT:
        return _said_of_object(attempt, drifted)
    found = [agreement(change, drifted.path, value, masks) for change in attempt.changes]
    order = (Agreement.WHOLE, Agreement.OTHER, Agreement.UNTOLD, Agreement.PART)
    for said in order:
        if said in found:
            return said
    # Changes that were too many to be listed may have been to this field.
    return Agreement.UNTOLD if attempt.unlisted else Agreement.ELSEWHERE


def _said_of_object(attempt: Attempt, drifted: Drifted) -> Agreement:
    """Return whether *attempt* is why a whole object is missing, or is there."""
    if drifted.ref.uid:
        return Agreement.WHOLE if attempt.operation == "CREATE" else Agreement.ELSEWHERE
    # What is gone was deleted last: a write that came later shows that it was there again.
    return Agreement.WHOLE if attempt.operation == "DELETE" else Agreement.OTHER


def _before(attempt: Attempt, drifted: Drifted, value: Value) -> Value:
    for change in attempt.changes:
        if agreement(change, drifted.path, value, None) is Agreement.PART:
            value = undone(change, drifted.path, value)
    return value


def _by(attempts: list[Attempt], drifted: Drifted, knowledge: Knowledge) -> Link:
    """Return the link to *attempts*, newest first, unless the object itself speaks against it."""
    last = attempts[0]
    word = testimony(last, drifted.holders)
    if word is Testimony.CONTRADICTS:
        others = ", ".join(sorted({entry.manager for entry in drifted.holders}))
        why = f"record {last.id} set this value, but managedFields name {others}, not its writer"
        return _unexplained(drifted, knowledge, why)
    witness = knowledge.witnesses.get(last.id)
    evidence = [f"record {last.id} set the field to its live value"]
    if word is Testimony.SUPPORTS:
        evidence.append("managedFields name the same manager since then")
    if witness is not None:
        evidence.append(f"the audit log says that it was stored, by {witness.user}")
    sure = word is Testimony.SUPPORTS or witness is not None
    return Link(
        State.EXPLAINED,
        records=tuple(attempt.id for attempt in attempts),
        actor=last.actor,
        impersonator=witness.user if witness and witness.user != last.actor else "",
        manager=last.manager,
        time=last.time,
        ticket=last.ticket,
        grant=last.grant,
        evidence=tuple(evidence),
        confidence=Confidence.CERTAIN if sure else Confidence.LIKELY,
    )


def _nothing_recorded(drifted: Drifted, knowledge: Knowledge) -> str:
    begin = knowledge.records_since
    if begin is None:
        return "the ledger holds no records of this cluster"
    written = since(drifted.holders)
    if written is not None and written < begin:
        return f"it was written at {written:%Y-%m-%d %H:%M:%S} UTC, before recording began"
    if written is None:
        return "no record changes this field, and managedFields do not say when it was written"
    return "no record changes this field since recording began"


def _unexplained(drifted: Drifted, knowledge: Knowledge, why: str) -> Link:
    """Return that nothing explains it, with what managedFields say as a hint."""
    written = since(drifted.holders)
    for gap in knowledge.unseen:
        if written is not None and gap.since <= written <= gap.until:
            why = f"{gap.why} at that time; {why}"
            break
    managers = ", ".join(sorted({entry.manager for entry in drifted.holders}))
    found = Link(State.UNEXPLAINED, why, time=written)
    return replace(found, evidence=(f"managedFields name {managers}",)) if managers else found
