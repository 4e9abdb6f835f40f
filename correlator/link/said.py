"""What one record says about a drifted field, of all that it changed."""

from typing import Final

from correlator.link.agreement import Agreement, agreement, undone
from correlator.link.drifted import Drifted
from glasswarden.kube.compare import Value
from glasswarden.kube.paths import ROOT
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, ChangedField

_ORDER: Final = (Agreement.WHOLE, Agreement.OTHER, Agreement.UNTOLD, Agreement.PART)


def said_of(drifted: Drifted, attempt: Attempt, value: Value, masks: Masks | None) -> Agreement:
    """Return how *attempt* relates to *value*; of several changes the one that says most."""
    if drifted.path == ROOT:
        return _said_of_object(drifted, attempt)
    found = [agreement(change, drifted.path, value, masks) for change in attempt.changes]
    for said in _ORDER:
        if said in found:
            return said
    # Changes that were too many to be listed may have been to this field.
    return Agreement.UNTOLD if attempt.unlisted else Agreement.ELSEWHERE


def value_before(drifted: Drifted, attempt: Attempt, value: Value) -> Value:
    """Return what stood in the field, now *value*, before *attempt* changed parts of it."""
    for change in attempt.changes:
        if agreement(change, drifted.path, value, None) is Agreement.PART:
            value = undone(change, drifted.path, value)
    return value


def changes_to(drifted: Drifted, attempt: Attempt) -> list[ChangedField]:
    """Return those changes of *attempt* that are about the field."""
    return [
        change
        for change in attempt.changes
        if agreement(change, drifted.path, drifted.live, None) is not Agreement.ELSEWHERE
    ]


def _said_of_object(drifted: Drifted, attempt: Attempt) -> Agreement:
    """Return whether *attempt* is why a whole object is missing, or is there."""
    if drifted.ref.uid:
        return Agreement.WHOLE if attempt.operation == "CREATE" else Agreement.ELSEWHERE
    # What is gone was deleted last: a write that came later shows that it was there again.
    return Agreement.WHOLE if attempt.operation == "DELETE" else Agreement.OTHER
