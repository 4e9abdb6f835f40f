"""The reasons why a field is unexplained: one sentence each, without the final period."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from correlator.attribution.context import Drifted, Knowledge
from correlator.attribution.evidence import last_write_time, managers_of
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.paths import ROOT
from glasswarden.ledger.record import Attempt, ChangedField

NO_UID: Final = "which of the objects that ever had this name it is about was not told"


def describe_later_value(attempt: Attempt) -> str:
    """Return that a later write changed the value of the record."""
    return (
        f"record {attempt.id} set another value: what came after it was not recorded,"
        " or it was never stored"
    )


def describe_unknown_value(attempt: Attempt, changes: Sequence[ChangedField]) -> str:
    """Return that the newest record of the field holds no value to compare."""
    if any(change.new_masked for change in changes):
        return (
            f"record {attempt.id} set the field to a hidden value,"
            " and the key that it is masked with is not at hand"
        )
    if changes:
        return f"record {attempt.id} set what contains the field, and keeps only a digest of it"
    return f"record {attempt.id} changed {attempt.unlisted} fields more than it lists"


def describe_partial_record(attempt: Attempt) -> str:
    """Return that records explain only a part of the value."""
    return f"record {attempt.id} changed a part of it; how the rest came there is not on record"


def describe_contradiction(attempt: Attempt, says: str) -> str:
    """Return that managedFields contradict the record."""
    return f"record {attempt.id} set this value, but {says}"


def describe_untraceable(attempt: Attempt) -> str:
    """Return that only the audit log can show whether the record is the last write."""
    return (
        f"record {attempt.id} made it so, but nothing is left that could tell whether somebody"
        " changed it and changed it back unrecorded; the audit log would"
    )


def describe_missing_witness(attempt: Attempt) -> str:
    """Return that the write is missing in the audit log."""
    return (
        f"record {attempt.id} set this value, but its witness is missing:"
        " the audit log of that time does not show that it was stored"
    )


def describe_unrecorded(
    drifted: Drifted, knowledge: Knowledge, elsewhere: Sequence[Attempt]
) -> str:
    """Return that no record of this object changes the field, and why that may be.

    *elsewhere* are the records of the same name that do not count.
    """
    written = last_write_time(drifted.holders)
    if before := _describe_before_recording(written, knowledge):
        return before
    if drifted.holders and all(each.manager in drifted.owner_managers for each in drifted.holders):
        return f"its owner applied it: field manager {managers_of(drifted.holders)} holds it"
    if denied := [each for each in elsewhere if _is_denial(each, drifted)]:
        last = denied[0]
        return (
            f"the attempts to change it that are on record were denied, the last one to"
            f" {last.actor} at {_time_text(last.time)}"
        )
    if not drifted.ref.uid and drifted.path != ROOT:
        return NO_UID
    if any(drifted.ref.uid not in ("", each.object_uid) for each in elsewhere):
        return (
            "no record changes this field of this object;"
            " there are records of an earlier object of this name"
        )
    if drifted.path == ROOT:
        return f"no record tells of its {'deletion' if drifted.live is ABSENT else 'creation'}"
    if written is None:
        return "no record changes this field, and managedFields do not say when it was written"
    return "no record changes this field since recording began"


def _describe_before_recording(written: datetime | None, knowledge: Knowledge) -> str:
    if knowledge.records_since is None:
        return "the ledger holds no records of this cluster"
    if written is None:
        return ""
    if knowledge.pruned_before is not None and written < knowledge.pruned_before:
        return (
            f"it was written at {_time_text(written)}, and records from before"
            f" {_time_text(knowledge.pruned_before)} were pruned"
        )
    if written < knowledge.records_since:
        return f"it was written at {_time_text(written)}, before recording began"
    return ""


def add_gap(drifted: Drifted, knowledge: Knowledge, why: str) -> str:
    """Return *why* behind what is known to have passed unseen when the field was written."""
    written = last_write_time(drifted.holders)
    for gap in knowledge.unseen:
        if written is not None and gap.since.replace(microsecond=0) <= written <= gap.until:
            return f"{gap.why} at that time; {why}"
    return why


def _is_denial(attempt: Attempt, drifted: Drifted) -> bool:
    return attempt.verdict == "deny" and any(
        change.path == str(drifted.path) for change in attempt.changes
    )


def _time_text(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"
