"""Values and names as text that is safe to print: nothing in a cluster may steer a terminal."""

import json
import unicodedata
from typing import Final

from correlator.finding import UNKNOWN, Finding, Result
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.paths import ROOT
from glasswarden.printable import printable

NOTHING: Final = "—"


def value_text(value: Value) -> str:
    """Return *value* on one line."""
    if value is ABSENT:
        return NOTHING
    if isinstance(value, str):
        return printable(value) or '""'
    return printable(json.dumps(value, ensure_ascii=False))


def columns_of(text: str) -> int:
    """Return how many columns *text* takes on a terminal: two for each wide character."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def nothing_text(result: Result) -> str:
    """Return that there are no findings, in words that claim no more than was looked at."""
    nothing = f"No {result.looked_for}"
    return f"{nothing} in what could be looked at" if result.incomplete else nothing


def object_text(finding: Finding) -> str:
    """Return which object it is."""
    return printable(str(finding.ref))


def declared_text(finding: Finding) -> str:
    """Return what Git says; a whole object is not spelled out."""
    is_whole = finding.is_missing_object and finding.declared != UNKNOWN
    return "the object" if is_whole else value_text(finding.declared)


def live_text(finding: Finding) -> str:
    """Return what is live; a whole object is not spelled out."""
    return "the object" if finding.is_orphan else value_text(finding.live)


def field_text(finding: Finding) -> str:
    """Return which field it is."""
    return "(object)" if finding.field == ROOT else printable(str(finding.field))
