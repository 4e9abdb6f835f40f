"""What a person reads in the terminal: whose object it is, what was refused, where to go."""

import json
from typing import Final

from glasswarden.kube.diff import ABSENT, Change
from glasswarden.kube.objects import Ref
from glasswarden.kube.owners import Owner
from glasswarden.policy.sensitive import is_sensitive
from glasswarden.policy.write import Operation, Write

ENGINE_NAMES: Final = {
    "argocd": "Argo CD",
    "configsync": "Config Sync",
    "fleet": "Fleet",
    "flux": "Flux",
    "helm": "Helm",
    "kapp": "kapp",
    "pulumi": "Pulumi",
    "sveltos": "Sveltos",
}

MOST_FIELDS: Final = 6
"""More lines than these push the rest of the message off the screen."""

LONGEST_VALUE: Final = 40


def denial(write: Write, owner: Owner) -> str:
    """Return why *write* was refused, for the person who made it."""
    return "\n".join(_lines(write, owner, "direct writes are refused."))


def warning(write: Write, owner: Owner) -> tuple[str, ...]:
    """Return what *write* would have met, a warning a line: the API server drops longer ones."""
    return tuple(_lines(write, owner, "this write would be refused."))


def _lines(write: Write, owner: Owner, verdict: str) -> list[str]:
    lines = [f"{_subject(write)} is managed by {_application(owner)}; {verdict}"]
    lines += _refused(write)
    lines.append("Change it in the Git repository of that application instead.")
    return [_printable(line) for line in lines]


def _subject(write: Write) -> str:
    ref = write.object
    place = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
    return f"{ref.kind} {place}"


def _application(owner: Owner) -> str:
    engine = ENGINE_NAMES.get(owner.engine, owner.engine)
    name = f"{owner.namespace}/{owner.app}" if owner.namespace else owner.app
    return " ".join(part for part in (engine, owner.kind, name) if part)


def _refused(write: Write) -> list[str]:
    if write.operation is Operation.DELETE:
        return ["Refused: delete"]
    if not write.changes:
        return []
    lines = ["Refused:"]
    lines += [f"  {_line(write.object, change)}" for change in write.changes[:MOST_FIELDS]]
    if len(write.changes) > MOST_FIELDS:
        lines.append(f"  … and {len(write.changes) - MOST_FIELDS} more")
    return lines


def _line(ref: Ref, change: Change) -> str:
    if is_sensitive(ref, change.path):
        return f"{change.path}: (hidden)"
    return f"{change.path}: {_value(change.old)} → {_value(change.new)}"


def _value(value: object) -> str:
    if value is ABSENT:
        return "(none)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _printable(line: str) -> str:
    """Return *line* without what a terminal would obey: annotations and keys are anybody's text."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
