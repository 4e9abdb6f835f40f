"""Which records a command goes by: a ticket, a person, an application, a place, a time."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from correlator.report.model import Scope
from glasswarden.cli.times import MOMENT
from glasswarden.ledger.attempts import asked
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.question import Question
from glasswarden.ledger.record import Attempt

PAGE: Final = 500
_NAMES: Final = ("ticket", "actor", "app", "namespace", "cluster", "since", "until")

Function = TypeVar("Function", bound=Callable[..., object])


def selection_options(function: Function) -> Function:
    """Let a command be told which records it goes by; `question_of` reads them."""
    for option in reversed(
        (
            click.option("--ticket", metavar="ID", help="What was done under this ticket."),
            click.option("--actor", metavar="USER", help="What this person did."),
            click.option("--app", metavar="NAME", help="What was done to this application."),
            click.option("--namespace", "-n", metavar="NAME", help="What was done in it."),
            click.option("--cluster", metavar="NAME", help="What was done in this cluster."),
            click.option("--since", type=MOMENT, help="Not before: 7d, 2h, or a date."),
            click.option("--until", type=MOMENT, help="Not after."),
        )
    ):
        function = option(function)
    return function


def question_of(options: dict[str, Any]) -> Question:
    """Return the question that *options* ask; one that asks for everything ends the command."""
    chosen = {name: options[name] for name in _NAMES}
    if not any(chosen.values()):
        raise click.UsageError("say what it is about: --ticket, --since, --app, --actor, …")
    return Question(**chosen, limit=PAGE)


def scope_of(question: Question) -> Scope:
    """Return *question* as a report says it."""
    return Scope(
        ticket=question.ticket or "",
        actor=question.actor or "",
        app=question.app or "",
        namespace=question.namespace or "",
        cluster=question.cluster or "",
        since=question.since,
        until=question.until,
    )


def attempts_for(ledger: Ledger, question: Question) -> list[Attempt]:
    """Return all that *question* wants, oldest first."""
    return sorted(asked(ledger, question), key=lambda each: (each.time, each.id))
