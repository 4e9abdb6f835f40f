"""What a policy would have done, counted for the people who decide whether to enforce it."""

import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from glasswarden.audit.files import Flaw, read_events
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


def tally(files: tuple[Path, ...], policy: Policy, since: datetime | None = None) -> Tally:
    """Return what *policy* would have made of the audit logs in *files*, shown while it works.

    What happened before *since* is read too, for it tells what objects were; it is not counted.
    """
    counted = Tally()
    size = sum(file.stat().st_size for file in files)
    with click.progressbar(length=size, label="Reading", file=sys.stderr) as bar:
        for outcome in simulate(read_events(files, _end, bar.update), policy):
            if since is None or outcome.event.request_received_timestamp >= since:
                counted.take(outcome)
    return counted


def _end(flaw: Flaw) -> None:
    """Judge nothing by a log that has holes: what a policy would do is asked before enforcing."""
    raise click.ClickException(str(flaw))


def _row(outcome: Judged) -> Row:
    write = outcome.write
    return Row(
        actor=write.actor.name,
        verb=outcome.event.verb,
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
