"""`glasswarden history`: the writes to an object's fields, one after another.

The steps are shown as a table for people, or as JSON for programs.
"""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from correlator.audit.observed_write import ObservedWrite
from correlator.field_history import Side, Step, WriteOutcome, chain_of
from correlator.finding import HIDDEN, time_as_text
from correlator.inspection.evidence import EvidenceOptions
from glasswarden.cli.breakglass import on_history
from glasswarden.cli.evidence import (
    audit_log_option,
    evidence_from,
    keys_option,
    ledger_option,
    policy_in,
    policy_option,
)
from glasswarden.cli.ledger.log import UNLIMITED, Line, lines_of, widths_of
from glasswarden.cli.options import KindUnknown, kind_of
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.paths import PathError, parse_path
from glasswarden.ledger.query import Question, is_within
from glasswarden.terminal import escape_unprintable

HEADER: Final = Line(("TIME (UTC)", "STATE", "WHO", "FIELD", "CHANGE", "TICKET"))
COLORS: Final = {
    WriteOutcome.DENIED: "red",
    WriteOutcome.REFUSED: "red",
    WriteOutcome.STORED: "green",
    WriteOutcome.UNRECORDED: "yellow",
}
_WHOLE: Final = {"CREATE": "created", "DELETE": "deleted"}


def show_table(steps: Sequence[Step]) -> None:
    """Show *steps* to a person."""
    if not steps:
        click.echo("Nothing was recorded of this.", err=True)
        return
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED
    rows = [HEADER, *map(_row, steps)]
    widths = widths_of(rows, [])
    for row in rows:
        for line in lines_of(row, widths, columns):
            click.echo(line)


def document_of(step: Step) -> dict[str, Any]:
    """Return *step* for a program; null stands for what is not there, or not known."""
    return {
        "field": step.path,
        "state": str(step.fate),
        "evidence": step.evidence,
        "time": time_as_text(step.time),
        "actor": step.actor,
        "manager": step.manager,
        "operation": step.operation,
        "did": step.did,
        "before": _plain(step.before),
        "after": _plain(step.after),
        "ticket": step.ticket,
        "reason": step.reason,
        "grant": step.grant,
        "records": list(step.records),
        "uid": step.uid,
    }


def _row(step: Step) -> Line:
    cells = (
        f"{step.time:%Y-%m-%d %H:%M:%S}" if step.time else "-",
        str(step.fate),
        step.actor or (f"[{step.manager}]" if step.manager else "-"),
        step.path,
        step.did or _WHOLE.get(step.operation) or f"{_text(step.before)} → {_text(step.after)}",
        step.ticket or "-",
    )
    details = tuple(map(escape_unprintable, _details(step)))
    return Line(tuple(map(escape_unprintable, cells)), details, COLORS.get(step.fate))


def _details(step: Step) -> Iterator[str]:
    if step.reason:
        yield f"reason: {step.reason}"
    if step.fate is WriteOutcome.UNRECORDED:
        yield step.evidence


def _text(side: Side) -> str:
    if side.is_plain and side.value is ABSENT:
        return "(none)"
    return json.dumps(_plain(side), ensure_ascii=False) if side.is_plain else str(_plain(side))


def _plain(side: Side) -> Any:  # noqa: ANN401 - any JSON value
    if side.masked:
        return HIDDEN
    if side.cut is not None:
        return f"({side.cut.length} bytes)"
    return None if side.value is ABSENT else side.value


@click.command("history")
@on_history
@ledger_option
@keys_option
@audit_log_option
@click.option("--field", metavar="PATH", help="Only this field, what is in it, or contains it.")
@click.option("--cluster", metavar="NAME", help="Its cluster, where the ledger has several.")
@policy_option("The policy, for who the emergency group is and what is guarded; with --audit-log.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)
def command(
    target: str,
    namespace: str | None,
    live: Object | None,
    address: str,
    keys: Path | None,
    audit_logs: tuple[Path, ...],
    field: str | None,
    cluster: str | None,
    policy_file: Path | None,
    form: str,
) -> None:
    """Show the writes to an object, field by field: who, from what to what, and was it stored.

    \b
      glasswarden history deploy/web -n shop --field /spec/replicas

    A write is *attempted* until a later record, the live object or the audit log confirms it.
    What nobody recorded shows in what came after; a name in brackets is a field manager's, which
    anybody can choose. With --audit-log, what got past the webhook is shown too.
    """  # noqa: D301 - the backslash keeps click from joining the lines
    wanted = _path(field) if field else ""
    named = EvidenceOptions(
        policy=policy_in(policy_file),
        ledger=address,
        keys=keys,
        cluster=cluster or "",
        audit_logs=audit_logs,
    )
    with evidence_from(named) as evidence:
        question = replace(_question(target, namespace, live), cluster=evidence.cluster)
        attempts = sorted(evidence.attempts(question), key=lambda each: each.id)
        observed = evidence.audit.watch.observed_writes if evidence.audit else ()
        past = filter(partial(_names, question), observed)
        steps = chain_of(attempts, live, evidence.knowledge, evidence.masks, past)
        for each in evidence.audit.incomplete if evidence.audit else ():
            click.echo(f"Not inspected: {each.what}: {each.why}", err=True)
    shown = [step for step in steps if _is_about(step, wanted)]
    if form == "json":
        click.echo(json.dumps([document_of(step) for step in shown], indent=2))
    else:
        show_table(shown)


def _path(text: str) -> str:
    try:
        return str(parse_path(text))
    except PathError as error:
        raise click.BadParameter(str(error), param_hint="--field") from error


def _is_about(step: Step, wanted: str) -> bool:
    return not wanted or is_within(step.path, wanted) or is_within(wanted, step.path)


def _names(question: Question, observed: ObservedWrite) -> bool:
    """Return whether *observed* is of the object that *question* asks for."""
    ref = observed.ref
    return (ref.kind, ref.name) == (question.kind, question.name) and all(
        asked in (None, found)
        for asked, found in ((question.group, ref.group), (question.namespace, ref.namespace))
    )


def _question(target: str, namespace: str | None, live: Object | None) -> Question:
    """Return what asks for the object's records; of one that is gone only its name is known."""
    if live is not None:
        ref = ref_of(live)
        return Question(group=ref.group, kind=ref.kind, namespace=ref.namespace, name=ref.name)
    word, _, name = target.partition("/")
    try:
        return Question(kind=kind_of(word), namespace=namespace, name=name)
    except KindUnknown as error:
        raise click.UsageError(str(error)) from error
