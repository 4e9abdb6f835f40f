"""Attribution of a drifted field: which record made it, or why no record is named.

The records of an object, newest first, are its history backwards. The first allowed write to the
field decides. If it set the value that is live now, it is the cause, unless managedFields or the
audit log show that somebody may have written later. If it set another value, a later write was not
recorded, and no actor is named. A wrong actor is worse than none.

The confidence follows from the evidence alone:

- `certain`: the record set the live value, and the managedFields of the object or the audit log of
  the API server show that this write was stored;
- `likely`: the record set the live value, and no evidence supports or contradicts it.

A record that no evidence on the object could contradict is not even `likely`: only the audit log
shows whether it was the last write.

A field that no record explains stays unexplained. The audit log may still show the writer;
`correlator.attribution.audit` defines when it names one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from correlator.attribution import reasons
from correlator.attribution.audit import Account, account_of, is_last
from correlator.attribution.context import AuditedWrite, Drifted, Knowledge, Way, Witness
from correlator.attribution.evidence import (
    Agreement,
    Statement,
    Testimony,
    compare_change,
    is_same_value,
    last_write_time,
    managers_of,
    value_before_change,
    weigh_managed_fields,
)
from glasswarden.kube.compare import Value
from glasswarden.kube.paths import ROOT, Key
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, ChangedField

_ORDER: Final = (Agreement.WHOLE, Agreement.OTHER, Agreement.UNKNOWN, Agreement.PART)


def agreement_of(
    drifted: Drifted, attempt: Attempt, value: Value, masks: Masks | None
) -> Agreement:
    """Return how *attempt* relates to *value*; of several changes the one that says most."""
    if drifted.path == ROOT:
        return _agreement_of_object(drifted, attempt)
    found = [compare_change(change, drifted.path, value, masks) for change in attempt.changes]
    for said in _ORDER:
        if said in found:
            return said
    # Changes that were too many to be listed may have been to this field.
    return Agreement.UNKNOWN if attempt.unlisted else Agreement.ELSEWHERE


def value_before(drifted: Drifted, attempt: Attempt, value: Value) -> Value:
    """Return what stood in the field, now *value*, before *attempt* changed parts of it."""
    for change in attempt.changes:
        if compare_change(change, drifted.path, value, None) is Agreement.PART:
            value = value_before_change(change, drifted.path, value)
    return value


def changes_to(drifted: Drifted, attempt: Attempt) -> list[ChangedField]:
    """Return those changes of *attempt* that are about the field."""
    return [
        change
        for change in attempt.changes
        if compare_change(change, drifted.path, drifted.live, None) is not Agreement.ELSEWHERE
    ]


def _agreement_of_object(drifted: Drifted, attempt: Attempt) -> Agreement:
    """Return whether *attempt* is why a whole object is missing, or is there."""
    if drifted.ref.uid:
        return Agreement.WHOLE if attempt.operation == "CREATE" else Agreement.ELSEWHERE
    # What is gone was deleted last: a write that came later shows that it was there again.
    return Agreement.WHOLE if attempt.operation == "DELETE" else Agreement.OTHER


ALLOWED: Final = "allow"
_STATUS: Final = Key("status")


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

    source: str = ""
    """The address that the write came from, where the audit log shows it."""

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
    walk = _Walk(drifted, knowledge, masks)
    found = walk.find_link(attempts)
    writes = knowledge.written(drifted.ref)
    account = account_of(drifted, writes)
    if found.state is State.EXPLAINED:
        if account is None or not _is_later(account, found):
            return found
        found = walk.leave_unexplained(account.why)
    if account is None:
        found = walk.confirm_by_later_writes(writes) or found
    elif account.write.way is Way.RECORDED:
        found = walk.confirm_by_account(account) or found
    elif account.proven or not _delegation(drifted):
        found = _describe_by_audit(account, found)
    by_trusted = account is None or account.write.way is Way.TRUSTED
    if found.state is State.EXPLAINED or not (right := _delegation(drifted)) or not by_trusted:
        return found
    holders = drifted.holders
    return Link(
        State.DELEGATED,
        manager=managers_of(holders),
        time=last_write_time(holders),
        evidence=(right,),
    )


def _is_later(account: Account, found: Link) -> bool:
    """Return whether the audit log shows a later, unrecorded write of the live value.

    An unproven write of a reconciler is no reason for doubt: it applies the same values repeatedly.
    """
    write = account.write
    if write.way is Way.RECORDED or (write.way is Way.TRUSTED and not account.proven):
        return False
    return found.time is not None and write.received > found.time


def _delegation(drifted: Drifted) -> str:
    """Return why the field belongs to neither Git nor people; empty if it does."""
    if drifted.path.steps[:1] == (_STATUS,):
        return "a status is for the object's controller to report"
    if drifted.delegate:
        return f"the policy delegates {drifted.path} to {drifted.delegate}"
    return ""


@dataclass(slots=True)
class _Walk:
    """A walk back through the history of an object, taking back what each write did to a part."""

    drifted: Drifted
    knowledge: Knowledge
    masks: Masks | None
    counted: list[Attempt] = field(default_factory=list)
    """What can have made the object what it is, as far as it was read."""

    passed_over: list[Attempt] = field(default_factory=list)
    """What cannot: denied, not stored, or of another object of that name."""

    doubted: list[Attempt] = field(default_factory=list)
    """What set the live value, though somebody may have written since."""

    untraceable: bool = False
    """Whether only the audit log can tell who wrote since."""

    def find_link(self, attempts: Iterable[Attempt]) -> Link:
        """Return the cause, or why there is none."""
        drifted, value, parts = self.drifted, self.drifted.live, list[Attempt]()
        for attempt in self._candidates(attempts):
            said = agreement_of(drifted, attempt, value, self.masks)
            if said is Agreement.WHOLE:
                return self._link_to([*parts, attempt])
            if said is Agreement.OTHER:
                return self.leave_unexplained(reasons.describe_later_value(attempt))
            if said is Agreement.UNKNOWN:
                return self.leave_unexplained(
                    reasons.describe_unknown_value(attempt, changes_to(drifted, attempt))
                )
            if said is Agreement.PART:
                parts.append(attempt)
                value = value_before(drifted, attempt, value)
                if is_same_value(value, drifted.declared):
                    return self._link_to(parts)
            self.counted.append(attempt)
        if parts:
            return self.leave_unexplained(reasons.describe_partial_record(parts[0]))
        return self.leave_unexplained(
            reasons.describe_unrecorded(drifted, self.knowledge, self.passed_over)
        )

    def _candidates(self, attempts: Iterable[Attempt]) -> Iterator[Attempt]:
        """Yield those of *attempts* that can have made the object what it is."""
        uid = self.drifted.ref.uid
        for attempt in attempts:
            if attempt.cluster != self.drifted.cluster:
                continue
            if self.drifted.path == ROOT:
                uid = uid or attempt.object_uid  # what is gone: the last object of that name
            if attempt.object_uid == uid and self._may_be_stored(attempt):
                yield attempt
            else:
                self.passed_over.append(attempt)

    def _may_be_stored(self, attempt: Attempt) -> bool:
        witness = self.knowledge.witnesses.get(attempt.id)
        return attempt.verdict == ALLOWED and (witness is None or witness.stored is not False)

    def _link_to(self, attempts: list[Attempt]) -> Link:
        """Return the link to *attempts*, newest first, unless something speaks against it."""
        last = attempts[0]
        word = weigh_managed_fields(
            self.drifted, last, [each for each in self.counted if each.id > last.id]
        )
        if word.testimony is Testimony.CONTRADICTS:
            self.doubted = attempts
            return self.leave_unexplained(reasons.describe_contradiction(last, word.text))
        if word.testimony is not Testimony.SUPPORTS and self.knowledge.lacks_witness(last):
            return self.leave_unexplained(reasons.describe_missing_witness(last))
        if word.testimony is Testimony.ABSENT:
            self.doubted, self.untraceable = attempts, True
            return self.leave_unexplained(reasons.describe_untraceable(last))
        return _new_explained_link(attempts, word, self.knowledge.witnesses.get(last.id))

    def confirm_by_account(self, account: Account) -> Link | None:
        """Return the link that was doubted, where the audit log shows that nobody wrote since."""
        if not self.doubted or self.doubted[0].id not in account.write.records:
            return None
        return self._confirm_doubted("the audit log shows the write, and no later one to it")

    def confirm_by_later_writes(self, writes: Sequence[AuditedWrite]) -> Link | None:
        """Return the link that was doubted, where everybody in the log since is accounted for.

        A log that leaves out what was written still tells by whom.
        """
        if not self.untraceable or not is_last(self.doubted[0], writes, self.drifted.entries):
            return None
        return self._confirm_doubted(
            "the audit log shows the write, and nobody unaccounted for since"
        )

    def _confirm_doubted(self, says: str) -> Link:
        witness = self.knowledge.witnesses.get(self.doubted[0].id)
        return _new_explained_link(self.doubted, Statement(Testimony.SUPPORTS, says), witness)

    def leave_unexplained(self, why: str) -> Link:
        """Return that nothing explains it, with what managedFields say as a hint."""
        holders = self.drifted.holders
        return Link(
            State.UNEXPLAINED,
            reasons.add_gap(self.drifted, self.knowledge, why),
            time=last_write_time(holders),
            evidence=(f"managedFields name {managers_of(holders)}",) if holders else (),
        )


def _describe_by_audit(account: Account, found: Link) -> Link:
    """Return the unexplained *found* with the write in the audit log, and its actor if proven."""
    write = account.write
    told = replace(found, why=account.why, time=write.received)
    if not account.proven:
        return told
    return replace(
        told,
        actor=write.actor,
        impersonator=write.user if write.user != write.actor else "",
        source=write.source,
        manager=write.manager,
        evidence=(f"audit event {write.audit_id} shows the write", *found.evidence),
    )


_DEEDS: Final = {"CREATE": "created the object", "DELETE": "deleted the object"}


def _new_explained_link(attempts: list[Attempt], word: Statement, witness: Witness | None) -> Link:
    last = attempts[0]
    evidence = [f"record {last.id} {_DEEDS.get(last.operation, 'set the field to its live value')}"]
    evidence += [word.text] if word.text else []
    stored = witness is not None and witness.stored is True
    if witness is not None and stored:
        evidence.append(f"the audit log says that it was stored, by {witness.user}")
    sure = word.testimony is Testimony.SUPPORTS or stored
    return Link(
        State.EXPLAINED,
        records=tuple(attempt.id for attempt in attempts),
        actor=last.actor,
        impersonator=witness.user if witness and witness.user != last.actor else "",
        source=witness.source if witness else "",
        manager=last.manager,
        time=last.time,
        ticket=last.ticket,
        grant=last.grant,
        evidence=tuple(evidence),
        confidence=Confidence.CERTAIN if sure else Confidence.LIKELY,
    )
