"""`glasswarden grants`: who used break-glass, and what became of what they changed.

`glasswarden grants sweep` removes what is left of grants that are over from their objects; the list
writes nothing.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

from correlator.declared.errors import DeclaredUnreadable
from correlator.grants import Field, Grant, State, grant_attempts_since, grants_of, ref_of_attempt
from correlator.inspection.evidence import Evidence, EvidenceOptions
from correlator.inspection.scope import InspectionScope
from correlator.still_live import OBJECT, UNKNOWN, Answer, FieldCheck, FieldState
from glasswarden.cli.breakglass import is_followed, is_open, namespace_of, render_time_left, view_of
from glasswarden.cli.evidence import (
    count_text,
    evidence_from,
    git_folder,
    git_options,
    keys_option,
    live_option,
    open_ledger_at,
)
from glasswarden.cli.ledger.log import UNLIMITED, Line, lines_of, render_change, widths_of
from glasswarden.cli.main import LazyGroup
from glasswarden.cli.options import MOMENT, Connection, Kubectl, connection_options
from glasswarden.kube.objects import Object, Ref, annotations_of, labels_of, metadata_of
from glasswarden.ledger.record import Attempt, ChangedField
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.terminal import escape_unprintable

HEADER: Final = Line(("TIME LEFT", "STATE", "WHO", "OBJECT", "TICKET", "FIELDS"))
COLORS: Final = {
    State.OPEN: "yellow",
    State.OVERDUE: "red",
    State.UNCHECKED: "magenta",
    State.SETTLED: "green",
}
LONG: Final = timedelta(days=2)


def show_table(grants: Sequence[Grant], now: datetime) -> None:
    """Show *grants* to a person."""
    if not grants:
        click.echo("No grant answers this.", err=True)
        return
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED
    rows = [HEADER, *(row_of(grant, now) for grant in grants)]
    widths = widths_of(rows, [])
    for row in rows:
        for line in lines_of(row, widths, columns):
            click.echo(line)


def show_json(grants: Sequence[Grant], now: datetime) -> None:
    """Show *grants* to a program."""
    click.echo(json.dumps([document_of(grant, now) for grant in grants], indent=2))


FORMATS: Final[Mapping[str, Callable[[Sequence[Grant], datetime], None]]] = {
    "table": show_table,
    "json": show_json,
}


def row_of(grant: Grant, now: datetime) -> Line:
    """Return a grant as lines: what it is, then each field, and the reason."""
    state = grant.state_at(now)
    cells = (
        time_left(grant, now),
        str(state),
        grant.grantee,
        grant.subject,
        grant.ticket or "-",
        _count(grant),
    )
    details = tuple(map(escape_unprintable, _details(grant, is_overdue=state is State.OVERDUE)))
    return Line(tuple(map(escape_unprintable, cells)), details, COLORS[state])


def time_left(grant: Grant, now: datetime) -> str:
    """Return how long a grant still lives, or how long ago it ended."""
    end = grant.end
    if end is None:
        return "-"
    return render_time_left(end - now) if now < end else f"{_span(now - end)} ago"


def _span(span: timedelta) -> str:
    return f"{span.days} days" if span >= LONG else render_time_left(span)


def _count(grant: Grant) -> str:
    live = sum(field.needs_follow_up is Answer.YES for field in grant.fields)
    changed = f"{len(grant.fields)} changed"
    return f"{changed}, {live} live" if live else changed


def _details(grant: Grant, *, is_overdue: bool) -> Iterator[str]:
    for field in grant.fields:
        changed = deed_of(field)
        place = f"{field_object(field)} " if field_object(field) != grant.subject else ""
        yield f"{place}{changed}  [{became(field)}]"
    if grant.reason:
        yield f"reason: {grant.reason}"
    if is_overdue:
        yield f"grant: {grant.id}"  # the word by which it is settled
    if grant.outcome:
        yield f"outcome: {grant.outcome}"


def field_object(field: Field) -> str:
    """Return the object that the field is of."""
    return str(ref_of_attempt(field.attempt))


def deed_of(field: Field) -> str:
    """Return what was done to a field, or to the whole object."""
    if field.change.path != OBJECT:
        return render_change(field.change)
    return "deleted" if field.attempt.operation == "DELETE" else "created"


def became(field: Field) -> str:
    """Return what became of a field, in a few words."""
    if deed_of(field) == "deleted":
        return _became_deleted(field)
    if field.state.git is Answer.YES:
        return "in Git"
    words = {Answer.YES: "still live", Answer.NO: "undone", Answer.UNKNOWN: "not checked"}
    return words[field.state.live]


def _became_deleted(field: Field) -> str:
    if field.state.git is Answer.YES:
        return "not in Git either"
    words = {Answer.YES: "still deleted", Answer.NO: "back again", Answer.UNKNOWN: "not checked"}
    return words[field.state.live]


def document_of(grant: Grant, now: datetime) -> dict[str, Any]:
    """Return a grant for a program; values that are hidden stay so."""
    return {
        "id": grant.id,
        "cluster": grant.cluster,
        "state": str(grant.state_at(now)),
        "grantee": grant.grantee,
        "approver": grant.approver,
        "rule": grant.rule,
        "object": grant.subject,
        "ticket": grant.ticket,
        "reason": grant.reason,
        "start": grant.start.isoformat(),
        "expires": grant.expires.isoformat() if grant.expires else None,
        "closed": grant.closed.isoformat() if grant.closed else None,
        "outcome": grant.outcome,
        "secondsLeft": _seconds_left(grant, now),
        "fields": [
            {
                "object": field_object(field),
                "live": str(field.state.live),
                "git": str(field.state.git),
                "record": field.attempt.id,
                **msgspec.to_builtins(field.change),
            }
            for field in grant.fields
        ],
    }


def _seconds_left(grant: Grant, now: datetime) -> int:
    return max(0, int((grant.end - now).total_seconds())) if grant.end else 0


def show_summary(grants: Sequence[Grant], now: datetime) -> None:
    """Print, below the table, how many there are of each state."""
    states = [grant.state_at(now) for grant in grants]
    parts = [f"{states.count(state)} {state}" for state in State if state in states]
    if parts:
        click.echo(f"{count_text(len(grants), 'grant')}: {', '.join(parts)}.", err=True)


Function = TypeVar("Function", bound=Callable[..., object])


def ledger_option(function: Function) -> Function:
    """Give a command the option of its ledger, as `address`.

    Not required: the group is read before its subcommand, which asks for a ledger itself.
    """
    return click.option(
        "--ledger",
        "address",
        envvar="GLASSWARDEN_LEDGER",
        metavar="ADDRESS",
        help="The ledger: sqlite:///PATH or postgresql://USER@HOST/DATABASE.  [required]",
    )(function)


def scope_options(function: Function) -> Function:
    """Give a command the options that select records."""
    since = click.option(
        "--since",
        type=MOMENT,
        default="30d",
        show_default=True,
        help="Grants that something happened to since: 7d, 2026-03-01T12:00:00Z.",
    )
    cluster = click.option("--cluster", help="Of this cluster, which must be the one asked.")
    return since(cluster(function))


def require_ledger(address: str | None) -> str:
    """Return the ledger's address, or end as click does without one."""
    if address is None:
        raise click.UsageError("Missing option '--ledger'.")
    return address


UNSETTLED: Final = frozenset({State.OPEN, State.OVERDUE, State.UNCHECKED})
EXIT_OVERDUE: Final = 1
EXIT_UNCHECKED: Final = 3
"""Not 2, with which click ends on a mistyped command."""


COMMANDS: Final = {"sweep": "glasswarden.cli.grants:sweep"}
"""Each command by the module that defines it as `command`."""


@click.group("grants", cls=LazyGroup, modules=COMMANDS, invoke_without_command=True)
@ledger_option
@scope_options
@keys_option
@click.option("--ticket", help="Under this ticket.")
@click.option("--actor", help="Of this person.")
@click.option("--app", default="", help="Of this application; also the release's name of a chart.")
@click.option("--overdue", is_flag=True, help="Only what has ended and is still live.")
@click.option("--all", "everything", is_flag=True, help="Settled ones too.")
@git_options
@live_option
@click.option("--no-live", is_flag=True, help="Go by the ledger alone; ask no cluster.")
@connection_options(asks_ledger=True, namespace="On objects in this namespace.")
@click.option(
    "--format",
    "output",
    type=click.Choice(sorted(FORMATS)),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)
@click.option(
    "--exit-code", is_flag=True, help="End with 1 if one is overdue, 3 if one is unchecked."
)
def grants(**options: Any) -> None:  # noqa: ANN401 - as they came
    """Show who used break-glass, and which follow-ups are open.

    A grant is open until it ends; then it is overdue while something changed under it is still
    live, and settled when all of it is undone, in Git (which --git shows), or delegated. Objects
    are looked up in the cluster; what cannot be read is unchecked.
    """
    if click.get_current_context().invoked_subcommand is None:
        _list(**options)


def _list(
    *,
    output: str,
    overdue: bool,
    everything: bool,
    exit_code: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    now = datetime.now(UTC)
    grants = _find_grants(**options)
    wanted = (
        frozenset({State.OVERDUE}) if overdue else frozenset(State) if everything else UNSETTLED
    )
    shown = [grant for grant in grants if grant.state_at(now) in wanted]
    FORMATS[output](shown, now)
    if output == "table":
        show_summary(shown, now)
        _print_hidden_count(len(grants) - len(shown))
    if exit_code:
        _end_with({grant.state_at(now) for grant in grants})


def _print_hidden_count(count: int) -> None:
    if count:
        click.echo(f"{count_text(count, 'other grant')} not shown; --all shows all.", err=True)


def _end_with(states: set[State]) -> None:
    if State.OVERDUE in states:
        raise SystemExit(EXIT_OVERDUE)
    if State.UNCHECKED in states:
        raise SystemExit(EXIT_UNCHECKED)


def _find_grants(
    *,
    address: str | None,
    since: datetime,
    cluster: str | None,
    keys: Path | None,
    ticket: str | None,
    actor: str | None,
    app: str,
    git: str,
    path: str,
    values: tuple[Path, ...],
    folder: Path | None,
    no_live: bool,
    connection: Connection,
) -> list[Grant]:
    """Return the grants that are asked about, newest first, with what became of their fields."""
    scope = InspectionScope(app, connection.namespace)
    named = EvidenceOptions(
        ledger=require_ledger(address),
        keys=keys,
        cluster=cluster or "",
        is_any_cluster=True,
        git=git_folder(git, path, values, app, connection.namespace),
        live_folder=None if no_live else folder,
        connect=None if no_live else lambda: connection.api_server("glasswarden-grants"),
    )
    with evidence_from(named) as evidence:
        story = _story(evidence, scope, since, cluster)
        grants = [
            grant
            for grant in grants_of(story, _unknown_state)
            if ticket in {None, grant.ticket} and actor in {None, grant.grantee}
        ]
        if (no_live and not git) or not grants or not _in_one_cluster(grants):
            return grants
        evidence.live_scope = scope.live
        return _check_grants(evidence, story, {(grant.cluster, grant.id) for grant in grants})


def _story(
    evidence: Evidence, scope: InspectionScope, since: datetime, cluster: str | None
) -> list[Attempt]:
    """Return the records of grants in *scope*."""
    if evidence.ledger is None:
        return []
    return [
        each
        for each in grant_attempts_since(evidence.ledger, since, cluster)
        if scope.includes(ref_of_attempt(each)) and (not scope.app or each.app in ("", scope.app))
    ]


def _check_grants(
    evidence: Evidence, story: Sequence[Attempt], ids: set[tuple[str, str]]
) -> list[Grant]:
    """Return the grants *ids* with what is still live and what is in Git."""
    try:
        grants = grants_of(story, _only(ids, evidence.field_states()))
    except DeclaredUnreadable as error:
        raise click.ClickException(str(error)) from error
    _report_unread(evidence)
    return [grant for grant in grants if (grant.cluster, grant.id) in ids]


def _unknown_state(_attempt: Attempt, _change: ChangedField) -> FieldState:
    return UNKNOWN


def _only(ids: set[tuple[str, str]], states: FieldCheck) -> FieldCheck:
    """Return what checks only what was changed under the grants *ids*."""

    def state_of(attempt: Attempt, change: ChangedField) -> FieldState:
        wanted = (attempt.cluster, attempt.grant) in ids
        return states(attempt, change) if wanted else UNKNOWN

    return state_of


def _in_one_cluster(grants: Sequence[Grant]) -> bool:
    """Return whether one cluster has them all; another one would show wrong objects."""
    clusters = sorted({grant.cluster for grant in grants})
    if len(clusters) > 1:
        names = ", ".join(map(escape_unprintable, clusters))
        click.echo(f"No cluster was asked: choose one of {names} with --cluster.", err=True)
    return len(clusters) == 1


def _report_unread(evidence: Evidence) -> None:
    if evidence.live_failure:
        click.echo(
            f"No object could be read: {escape_unprintable(evidence.live_failure)}", err=True
        )
    if evidence.unread:
        click.echo(f"{count_text(len(evidence.unread), 'object')} could not be read:", err=True)
    for ref, why in evidence.unread.items():
        click.echo(f"  {escape_unprintable(str(ref))}: {escape_unprintable(why)}", err=True)
    unread = evidence.manifests(evidence.git).incomplete if evidence.git else ()
    for each in unread:
        click.echo(f"Not read of Git: {escape_unprintable(f'{each.what}: {each.why}')}", err=True)


@click.command("sweep")
@ledger_option
@scope_options
@connection_options(asks_ledger=True, namespace="")
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
def sweep(
    *,
    address: str | None,
    since: datetime,
    cluster: str | None,
    dry_run: bool,
    connection: Connection,
) -> None:
    """Take the marks of grants and requests that are over off their objects.

    Nothing depends on it: a stamp that is out of date counts for nothing, and leaves with the next
    write that the webhook sees. What is in force, or waits for approval, is left alone.
    """
    with open_ledger_at(require_ledger(address)) as ledger:
        story = grant_attempts_since(ledger, since, cluster)
    if len({attempt.cluster for attempt in story}) > 1:
        raise click.UsageError("The ledger knows several clusters: choose one with --cluster.")
    refs, kubectl = refs_of(story), connection.kubectl()
    outcomes = [_sweep(kubectl, ref, dry_run=dry_run) for ref in refs]
    swept = outcomes.count(True)
    click.echo(f"{swept} of {len(refs)} objects {'would be ' if dry_run else ''}swept.", err=True)
    if None in outcomes:
        raise SystemExit(1)


def refs_of(story: Iterable[Attempt]) -> list[Ref]:
    """Return the objects that *story* is about, each once."""
    refs = (
        Ref(each.group, each.version, each.kind, each.namespace, each.name)
        for each in story
        if each.name
    )
    return list(dict.fromkeys(refs))


def left_over(obj: Object, now: datetime, namespace: Object | None = None) -> list[str]:
    """Return the annotations on *obj* that a grant or a request which is over left behind.

    What a grant on its Namespace left behind is over with that.
    """
    view = view_of(obj, namespace)
    waits = view.request is not None and now < view.request.deadline
    over = view.stamp is not None or view.request is not None
    if is_open(view, now) or is_followed(view, now) or waits or not over:
        return []
    return sorted(names.ANNOTATIONS.intersection(annotations_of(obj)))


def _sweep(kubectl: Kubectl, ref: Ref, *, dry_run: bool) -> bool | None:
    """Sweep one object; return whether it had marks, or nothing if that failed."""
    try:
        found = kubectl.find(ref)
        marks = _marks(kubectl, found) if found else []
        if found is None or not marks:
            return False
        if not dry_run:
            # Whoever asks anew meanwhile moves the object on: then it is left alone.
            kubectl.strip(ref, str(metadata_of(found).get("resourceVersion", "")), marks)
            _unlabel(kubectl, ref)
    except click.ClickException as error:
        click.echo(f"{escape_unprintable(str(ref))}: {escape_unprintable(error.message)}", err=True)
        return None
    click.echo(f"{escape_unprintable(str(ref))}: {', '.join(short(mark) for mark in marks)}")
    return True


def _marks(kubectl: Kubectl, obj: Object) -> list[str]:
    if not names.ANNOTATIONS.intersection(annotations_of(obj)):
        return []
    return left_over(obj, datetime.now(UTC), namespace_of(kubectl, obj))


def _unlabel(kubectl: Kubectl, ref: Ref) -> None:
    """Take a Namespace's label off, where the webhook was not there to do it."""
    if not is_namespace(ref):
        return
    found = kubectl.find(ref)
    if found is not None and names.ACTIVE in labels_of(found):
        kubectl.unlabel(ref, names.ACTIVE)


def short(name: str) -> str:
    """Return an annotation's name without our prefix."""
    return name.removeprefix(names.PREFIX)
