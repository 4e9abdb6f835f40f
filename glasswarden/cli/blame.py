"""`glasswarden blame`: a live object, each line with who set it."""

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from correlator.attribution.ledger import Histories
from correlator.blame import (
    Attribution,
    Declaration,
    History,
    Line,
    declaration_of,
    lines_of,
    render,
)
from correlator.declared.errors import DeclaredUnreadable
from correlator.detector.managers import appliers_for
from correlator.finding import HIDDEN
from correlator.inspection.evidence import Evidence, EvidenceOptions
from glasswarden.cli.breakglass import on_object
from glasswarden.cli.evidence import (
    audit_log_option,
    evidence_from,
    git_folder,
    git_options,
    keys_option,
    ledger_option,
    policy_in,
    policy_option,
)
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change, remove_noise
from glasswarden.kube.engines.registry import owner_of
from glasswarden.kube.managed_fields import entries_of
from glasswarden.kube.objects import Object, Ref, generation_of, ref_of
from glasswarden.kube.paths import Path as FieldPath
from glasswarden.kube.paths import PathError, parse_path
from glasswarden.ledger.record import Attempt
from glasswarden.policy.policy import Policy

MOST_RECORDS: Final = 2000
"""How far back an object's history is read; only managedFields may show what is older."""


@click.command("blame")
@on_object
@ledger_option
@keys_option
@audit_log_option
@git_options
@click.option("--app", default="", metavar="NAME", help="The release's name, where it is a chart.")
@click.option("--field", metavar="PATH", help="Only this field, and what stands below it.")
@click.option("--cluster", metavar="NAME", help="Its cluster, where the ledger has several.")
@policy_option("The policy, for the values that it hides; those of Secrets always are.")
def command(
    obj: Object,
    address: str,
    keys: Path | None,
    audit_logs: tuple[Path, ...],
    field: str | None,
    cluster: str | None,
    policy_file: Path | None,
    git: str,
    path: str,
    values: tuple[Path, ...],
    app: str,
) -> None:
    """Show a live object as YAML, each line with who set it, when, why, under which ticket.

    A name is proven, by a record or by the audit log; one in brackets, and faint, is a field
    manager's, which anybody can choose. With --git, a line that is as Git declares it also has the
    revision and the file.
    """
    policy, ref = policy_in(policy_file), ref_of(obj)
    below = _path(field) if field else None
    lines = [line for line in _lines(obj, policy) if _is_wanted(line, below)]
    named = EvidenceOptions(
        policy=policy,
        ledger=address,
        keys=keys,
        cluster=cluster or "",
        audit_logs=audit_logs,
        git=git_folder(git, path, values, app, ref.namespace),
    )
    with evidence_from(named) as evidence:
        if not lines:
            raise click.ClickException(f"{ref} has nothing at {field}")
        history = _history(evidence, obj)
        blamed = [(line, _attribution(history, line)) for line in lines]
        revisions = _revisions(evidence, ref, lines)
        for each in evidence.audit.incomplete if evidence.audit else ():
            click.echo(f"Not inspected: {each.what}: {each.why}", err=True)
    text = "\n".join(_style_lines(blamed, revisions))
    if sys.stdout.isatty():
        click.echo_via_pager(f"{text}\n")
    else:
        click.echo(text)


def _path(text: str) -> FieldPath:
    try:
        return parse_path(text)
    except PathError as error:
        raise click.BadParameter(str(error), param_hint="--field") from error


def _history(evidence: Evidence, obj: Object) -> History:
    """Return what is known of the writes to *obj*."""
    return History(
        evidence.cluster,
        ref_of(obj),
        entries_of(obj),
        _attempts(evidence, ref_of(obj)),
        evidence.masks,
        appliers_for(owner_of(obj, evidence.policy.engines), evidence.policy),
        evidence.witnessed,
        generation_of(obj),
    )


def _attempts(evidence: Evidence, ref: Ref) -> list[Attempt]:
    """Return what was attempted on the object, newest first."""
    if evidence.ledger is None:
        return []
    histories = Histories(evidence.ledger, evidence.cluster)
    return list(islice(histories([ref])[0], MOST_RECORDS))


def _lines(obj: Object, policy: Policy) -> list[Line]:
    return lines_of(remove_noise(obj), entries_of(obj), _value_filter_for(ref_of(obj), policy))


def _value_filter_for(ref: Ref, policy: Policy) -> Callable[[FieldPath, Any], Any]:
    def filter_value(path: FieldPath, value: Any) -> Any:  # noqa: ANN401 - any JSON value
        return HIDDEN if policy.hides(ref, Change(path, ABSENT, value)) else value

    return filter_value


def _is_wanted(line: Line, below: FieldPath | None) -> bool:
    return below is None or line.path.steps[: len(below.steps)] == below.steps


def _attribution(history: History, line: Line) -> Attribution | None:
    return history.attribute(line.path, line.value) if line.sets else None


def _revisions(evidence: Evidence, ref: Ref, lines: list[Line]) -> list[str]:
    """Return the revision and the file of each line that is as Git declares it."""
    declared = _declaration(evidence, ref)
    return [
        str(declared) if declared and line.sets and declared.declares(line.path, line.value) else ""
        for line in lines
    ]


def _declaration(evidence: Evidence, ref: Ref) -> Declaration | None:
    """Return what Git declares about the object; or end with why Git cannot be read."""
    if evidence.git is None:
        return None
    try:
        declared = declaration_of(ref, evidence.manifests(evidence.git))
    except DeclaredUnreadable as error:
        raise click.ClickException(str(error)) from error
    if declared is None:
        click.echo(f"{evidence.git.repository} does not declare {ref}", err=True)
    return declared


def _style_lines(
    blamed: list[tuple[Line, Attribution | None]], revisions: list[str]
) -> Iterator[str]:
    for margin, text, proven in render(blamed, revisions):
        named = click.style(margin, fg="yellow") if proven else click.style(margin, dim=True)
        yield f"{named} │ {text}"
