"""Telling the story: each command, the real webhook's answer to it, and what the ledger kept."""

from collections.abc import Iterable

import click

from glasswarden.demo.stage import Response, Stage
from glasswarden.demo.story import Step, Story
from glasswarden.ledger.record import Attempt


def play(story: Story, stage: Stage) -> None:
    """Show every step of *story* as its person would have seen it."""
    for number, step in enumerate(story.steps, start=1):
        click.echo()
        click.secho(f"{number}. {step.title}", bold=True)
        click.echo(f"{click.style(step.person, fg='cyan')} $ {step.command}")
        click.echo(_seen(step, stage))


def show_records(records: Iterable[Attempt]) -> None:
    """Show what the ledger kept, a line a record."""
    click.echo()
    click.secho("What the ledger kept", bold=True)
    for record in records:
        place = f"{record.kind.lower()}/{record.name} -n {record.namespace}"
        click.echo(
            f"{record.time:%H:%M:%S}  {record.verdict:5}  {record.actor:10}  "
            f"{record.operation.lower():6}  {place:24}  {record.id}"
        )
        for change in record.changes:
            click.echo(f"          {change.path}")


def _seen(step: Step, stage: Stage) -> str:
    """Return what the terminal showed, with the answer that the webhook gives now."""
    if not step.asked:
        return f"{step.before}{click.style('(the webhook was not asked)', dim=True)}"
    response = stage.ask(bytes(step.review))
    if not response.allowed:
        return click.style(f"{step.before}{response.status.message}", fg="red")
    return "\n".join([*_warnings(response), step.before.rstrip()])


def _warnings(response: Response) -> list[str]:
    return [click.style(f"Warning: {warning}", fg="yellow") for warning in response.warnings]
