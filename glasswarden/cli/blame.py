"""`glasswarden blame`: a live object, each line with who set it."""

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from correlator.attribution.context import Knowledge
from correlator.attribution.ledger import Histories
from correlator.blame import Attribution, History, Line, declaration_of, lines_of, render
from correlator.detector.managers import keepers_for
from correlator.finding import HIDDEN
from glasswarden.cli.breakglass import on_object
from glasswarden.cli.evidence import (
    audit_log_from,
    audit_log_option,
    cluster_of,
    git_options,
    keys_option,
    ledger_option,
    manifests_in,
    masks_at,
    opened,
)
from glasswarden.cli.options import read_policy
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change, remove_noise
from glasswarden.kube.engines.registry import owner_of
from glasswarden.kube.managed_fields import entries_of
from glasswarden.kube.objects import Object, Ref, generation_of, ref_of
from glasswarden.kube.paths import Path as FieldPath
from glasswarden.kube.paths import PathError, parse_path
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import Attempt
from glasswarden.policy.policy import DEFAULT, Policy

MOST_RECORDS: Final = 2000
"""How far back an object's history is read; what is older is told by managedFields, if at all."""


@click.command("blame")
@on_object
@ledger_option
@keys_option
@audit_log_option
@git_options
@click.option("--field", metavar="PATH", help="Only this field, and what stands below it.")
@click.option("--cluster", metavar="NAME", help="Its cluster, where the ledger has several.")
@click.option(
    "--policy",
    "policy_file",
    envvar="GLASSWARDEN_POLICY",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The policy, for the values that it hides; those of Secrets always are.",
)
def command(
    obj: Object,
    address: str,
    keys: Path | None,
    audit_logs: tuple[Path, ...],
    field: str | None,
    cluster: str | None,
    policy_file: Path | None,
    git: str | None,
    path: str,
) -> None:
    """Show a live object as YAML, each line with who set it, when, why, under which ticket.

    A name is proven, by a record or by the audit log; one in brackets, and faint, is a field
    manager's, which anybody can choose. With --git, a line that is as Git declares it also has the
    revision and the file.
    """
    policy = read_policy(policy_file) if policy_file else DEFAULT
    below = _path(field) if field else None
    with opened(address) as ledger:
        name = cluster_of(ledger, cluster)
        attempts = _history(ledger, ref_of(obj), name)
    lines = [line for line in _lines(obj, policy) if _is_wanted(line, below)]
    if not lines:
        raise click.ClickException(f"{ref_of(obj)} has nothing at {field}")
    with audit_log_from(audit_logs, policy) as audit:
        history = History(
            name,
            ref_of(obj),
            entries_of(obj),
            attempts,
            masks_at(keys, address),
            keepers_for(owner_of(obj, policy.engines), policy),
            audit.knowledge if audit else Knowledge(),
            generation_of(obj),
        )
        blamed = [(line, _attribution(history, line)) for line in lines]
        for each in audit.incomplete if audit else ():
            click.echo(f"Not looked at: {each.what}: {each.why}", err=True)
    text = "\n".join(_styled(blamed, _revisions(git, path, ref_of(obj), lines)))
    if sys.stdout.isatty():
        click.echo_via_pager(f"{text}\n")
    else:
        click.echo(text)


def _path(text: str) -> FieldPath:
    try:
        return parse_path(text)
    except PathError as error:
        raise click.BadParameter(str(error), param_hint="--field") from error


def _history(ledger: Ledger, ref: Ref, cluster: str) -> list[Attempt]:
    """Return what was attempted on the object, newest first."""
    histories = Histories(ledger, cluster)
    return list(islice(histories([ref])[0], MOST_RECORDS))


def _lines(obj: Object, policy: Policy) -> list[Line]:
    return lines_of(remove_noise(obj), entries_of(obj), _shown(ref_of(obj), policy))


def _shown(ref: Ref, policy: Policy) -> Callable[[FieldPath, Any], Any]:
    def shown(path: FieldPath, value: Any) -> Any:  # noqa: ANN401 - any JSON value
        return HIDDEN if policy.hides(ref, Change(path, ABSENT, value)) else value

    return shown


def _is_wanted(line: Line, below: FieldPath | None) -> bool:
    return below is None or line.path.steps[: len(below.steps)] == below.steps


def _attribution(history: History, line: Line) -> Attribution | None:
    return history.attribute(line.path, line.value) if line.sets else None


def _revisions(git: str | None, path: str, ref: Ref, lines: list[Line]) -> list[str]:
    """Return the revision and the file of each line that is as Git declares it."""
    declared = declaration_of(ref, manifests_in(git, path)) if git else None
    if git and declared is None:
        click.echo(f"{git} does not declare {ref}", err=True)
    return [
        str(declared) if declared and line.sets and declared.says(line.path, line.value) else ""
        for line in lines
    ]


def _styled(blamed: list[tuple[Line, Attribution | None]], revisions: list[str]) -> Iterator[str]:
    for margin, text, proven in render(blamed, revisions):
        named = click.style(margin, fg="yellow") if proven else click.style(margin, dim=True)
        yield f"{named} │ {text}"
