"""`glasswarden grants`: the list, from the ledger and from the objects as they are live."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from correlator.grants.grant import Grant, State, grants_of
from correlator.grants.stories import stories_since
from correlator.standing import UNKNOWN, Looked, NotKnown, Standing, Standings
from glasswarden.cli.git import declared_in, git_options
from glasswarden.cli.grants.options import (
    ledger_option,
    required,
    scope_options,
)
from glasswarden.cli.grants.shown import FORMATS, show_summary
from glasswarden.cli.kubectl_options import kubectl_of, kubectl_options
from glasswarden.cli.lazy import LazyGroup
from glasswarden.cli.ledger.masks import masks_at
from glasswarden.cli.ledger.options import keys_option, opened
from glasswarden.cli.ledger.words import counted
from glasswarden.cli.live import Live
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.record import Attempt, ChangedField
from glasswarden.printable import printable

OWED: Final = frozenset({State.OPEN, State.OVERDUE, State.UNCHECKED})
EXIT_OVERDUE: Final = 1
EXIT_UNCHECKED: Final = 3
"""Not 2, with which click ends on a mistyped command."""


COMMANDS: Final = {"sweep": "glasswarden.cli.grants.sweep"}
"""Each command by the module that defines it as `command`."""


@click.group("grants", cls=LazyGroup, modules=COMMANDS, invoke_without_command=True)
@ledger_option
@scope_options
@keys_option
@click.option("--ticket", help="Under this ticket.")
@click.option("--actor", help="Of this person.")
@click.option("--overdue", is_flag=True, help="Only what has ended and is still live.")
@click.option("--all", "everything", is_flag=True, help="Settled ones too.")
@git_options
@click.option("--no-live", is_flag=True, help="Go by the ledger alone; ask no cluster.")
@kubectl_options
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
def command(**options: Any) -> None:  # noqa: ANN401 - as they came
    """Show who broke the glass, and what is still owed for it.

    A grant is open until it ends; then it is overdue while something changed under it is still
    live, and settled when all of it is undone, in Git (which --git shows), or delegated. Objects
    are looked up with kubectl; what cannot be read is unchecked.
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
    grants = _found(**options)
    wanted = frozenset({State.OVERDUE}) if overdue else frozenset(State) if everything else OWED
    shown = [grant for grant in grants if grant.state(now) in wanted]
    FORMATS[output](shown, now)
    if output == "table":
        show_summary(shown, now)
        _say_left_out(len(grants) - len(shown))
    if exit_code:
        _end_with({grant.state(now) for grant in grants})


def _say_left_out(count: int) -> None:
    if count:
        click.echo(f"{counted(count, 'other grant')} not shown; --all shows all.", err=True)


def _end_with(states: set[State]) -> None:
    if State.OVERDUE in states:
        raise SystemExit(EXIT_OVERDUE)
    if State.UNCHECKED in states:
        raise SystemExit(EXIT_UNCHECKED)


def _found(
    *,
    address: str | None,
    since: datetime,
    cluster: str | None,
    keys: Path | None,
    ticket: str | None,
    actor: str | None,
    git: str | None,
    path: str,
    no_live: bool,
    **options: Any,  # noqa: ANN401 - kubectl's
) -> list[Grant]:
    """Return the grants that are asked about, newest first, with what became of their fields."""
    ledger_address = required(address)
    with opened(ledger_address) as ledger:
        story = stories_since(ledger, since, cluster)
    asked = [
        grant
        for grant in grants_of(story, _unlooked)
        if ticket in {None, grant.ticket} and actor in {None, grant.grantee}
    ]
    if (no_live and git is None) or not asked or not _in_one_cluster(asked):
        return asked
    live = None if no_live else Live(kubectl_of(options))
    declared, incomplete = declared_in(git, path) if git else (None, [])
    ids = {(grant.cluster, grant.id) for grant in asked}
    looked = Looked(live or _nobody_looks, declared, masks_at(keys, ledger_address))
    grants = grants_of(story, _only(ids, looked))
    _say_unread(live, incomplete)
    return [grant for grant in grants if (grant.cluster, grant.id) in ids]


def _unlooked(_attempt: Attempt, _change: ChangedField) -> Standing:
    return UNKNOWN


def _nobody_looks(_ref: Ref) -> Object | None:
    raise NotKnown


def _only(ids: set[tuple[str, str]], looked: Standings) -> Standings:
    """Return what looks only at what was changed under the grants *ids*."""

    def standing(attempt: Attempt, change: ChangedField) -> Standing:
        wanted = (attempt.cluster, attempt.grant) in ids
        return looked(attempt, change) if wanted else UNKNOWN

    return standing


def _in_one_cluster(grants: Sequence[Grant]) -> bool:
    """Tell whether one kubectl can see them all; of another cluster it would see wrong things."""
    clusters = sorted({grant.cluster for grant in grants})
    if len(clusters) > 1:
        names = ", ".join(map(printable, clusters))
        click.echo(f"Nothing was looked up: choose one of {names} with --cluster.", err=True)
    return len(clusters) == 1


def _say_unread(live: Live | None, incomplete: Sequence[str]) -> None:
    unread = live.unread if live else {}
    if unread:
        click.echo(f"{counted(len(unread), 'object')} could not be read:", err=True)
    for ref, why in unread.items():
        click.echo(f"  {printable(str(ref))}: {printable(why)}", err=True)
    for what in incomplete:
        click.echo(f"Not read of Git: {printable(what)}", err=True)
