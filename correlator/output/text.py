"""Values and names as text that is safe to print: nothing in a cluster may steer a terminal."""

import json
from typing import Final

from correlator.finding import Finding
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.paths import ROOT

NOTHING: Final = "—"


def printable(text: str) -> str:
    """Return *text* with every character escaped that is not plainly visible."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def value_text(value: Value) -> str:
    """Return *value* on one line."""
    if value is ABSENT:
        return NOTHING
    if isinstance(value, str):
        return printable(value) or '""'
    return printable(json.dumps(value, ensure_ascii=False))


def object_text(finding: Finding) -> str:
    """Return which object it is."""
    return printable(str(finding.ref))


def declared_text(finding: Finding) -> str:
    """Return what Git says; a whole object is not spelled out."""
    return "the object" if finding.is_missing_object else value_text(finding.declared)


def live_text(finding: Finding) -> str:
    """Return what is live; a whole object is not spelled out."""
    return "the object" if finding.is_orphan else value_text(finding.live)


def field_text(finding: Finding) -> str:
    """Return which field it is."""
    return "(object)" if finding.field == ROOT else printable(str(finding.field))


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode() if char != "\n" else "\\n"
