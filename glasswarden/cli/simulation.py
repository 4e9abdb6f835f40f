"""What a policy would have done, counted for the people who decide whether to enforce it."""

import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from glasswarden.policy.decision import Verdict
from glasswarden.policy.policy import Policy
from webhook.simulation import Judged, Unjudged, simulate

MOST_ROWS = 50


@dataclass(frozen=True, slots=True)
class Row:
    """Writes that are alike: the same person, doing the same to objects of the same application."""

    actor: str
    verb: str
    manager: str
    kind: str
    namespace: str
    engine: str
    application: str
    clause: str


@dataclass(slots=True)
class Tally:
    """The writes of an audit log, counted."""

    denied: Counter[Row] = field(default_factory=Counter)
    clauses: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)

    def take(self, outcome: Judged | Unjudged) -> None:
        """Count *outcome*."""
        if isinstance(outcome, Unjudged):
            self.unjudged[outcome.reason] += 1
            return
        self.clauses[outcome.decision.clause] += 1
        if outcome.decision.verdict is Verdict.DENY:
            self.denied[_row(outcome)] += 1


def tally(files: tuple[Path, ...], policy: Policy) -> Tally:
    """Return what *policy* would have made of the audit logs in *files*, shown while it works."""
    counted = Tally()
    size = sum(file.stat().st_size for file in files)
    with click.progressbar(length=size, label="Reading", file=sys.stderr) as bar:
        events = (event for file in files for event in _events(file, bar.update))
        for outcome in simulate(events, policy):
            counted.take(outcome)
    return counted


def _events(file: Path, progress: Callable[[int], None]) -> Iterator[dict[str, Any]]:
    """Yield the audit events of *file* (JSON lines, perhaps gzipped), or end with what is none."""
    try:
        with file.open("rb") as stored:
            lines = gzip.GzipFile(fileobj=stored) if file.suffix == ".gz" else stored
            seen = 0
            for number, line in enumerate(lines, start=1):
                progress(stored.tell() - seen)
                seen = stored.tell()
                if line.strip():
                    yield _event(f"{file}:{number}", line)
    except (OSError, EOFError) as error:
        raise click.ClickException(f"{file}: {error}") from error


def _event(place: str, line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError as error:
        raise click.ClickException(f"{place}: not JSON: {error}") from error
    if not isinstance(event, dict) or event.get("kind") != "Event":
        raise click.ClickException(f"{place}: not an audit event")
    return event


def _row(outcome: Judged) -> Row:
    write = outcome.write
    return Row(
        actor=write.actor.name,
        verb=outcome.event["verb"],
        manager=write.manager,
        kind=write.target.kind,
        namespace=write.target.namespace,
        engine=write.owner.engine if write.owner else "",
        application=write.owner.app if write.owner else "",
        clause=outcome.decision.clause,
    )


def tally_as_json(counted: Tally) -> dict[str, Any]:
    """Return *counted* for programs."""
    return {
        "denied": [
            {"count": count, **{name: getattr(row, name) for name in Row.__slots__}}
            for row, count in counted.denied.most_common()
        ],
        "clauses": dict(counted.clauses),
        "unjudged": dict(counted.unjudged),
    }


def tally_as_text(counted: Tally) -> str:
    """Return *counted* for a terminal."""
    judged, denied = sum(counted.clauses.values()), sum(counted.denied.values())
    lines = [f"{judged} writes judged, {denied} would have been denied"]
    for row, count in counted.denied.most_common(MOST_ROWS):
        application = f"{row.engine} {row.application}".strip()
        lines.append(
            f"{count:>7}  {row.actor:<24}  {row.verb:<6}  {row.manager:<26}  "
            f"{row.kind} in {row.namespace or '(cluster)'} of {application}"
        )
    if len(counted.denied) > MOST_ROWS:
        lines.append(f"         … and {len(counted.denied) - MOST_ROWS} more kinds of write")
    for reason, count in counted.unjudged.most_common():
        lines.append(f"{count:>7}  not judged: {reason}")
    return "\n".join(lines)
