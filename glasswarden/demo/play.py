"""Telling the story: what happened, and what the real webhook says to it now."""

import textwrap
from collections.abc import Iterator
from typing import Final

import click

from glasswarden.demo.replay import Replay
from glasswarden.demo.retelling import Response
from glasswarden.demo.story import Recording, Step

WIDTH: Final = 100
MOST_LINES: Final = 4
"""Of what was said at once; the whole is in the webhook's log and in the ledger."""

_MARGIN: Final = " " * 10


def introduce(recording: Recording) -> None:
    """Say what was recorded, and what is made now."""
    click.echo(
        f"Recorded on {recording.began:%Y-%m-%d} (UTC) at Kubernetes {recording.server} with Flux "
        f"{recording.flux}.\nWhat the webhook says and the ledger holds is made now, "
        "by the clock of that day."
    )


def play(replay: Replay) -> None:
    """Show every step as its person saw it."""
    for step in replay.recording.steps:
        if not step.title:
            replay.warm_up(step)
            continue
        given = replay.live_through(step)
        click.echo(f"{step.time:%H:%M:%S}  {click.style(step.title, bold=True)}")
        if step.command:
            show_command(f"{step.person} $ {step.command}", _MARGIN)
        for line in _seen(step, given):
            click.echo(f"{_MARGIN}{line}")


def show_command(line: str, margin: str = "") -> None:
    """Show what is typed, in as many lines as it takes."""
    for part in _wrapped(line, "    ", WIDTH - len(margin)):
        click.secho(f"{margin}{part}", fg="cyan")


def _seen(step: Step, given: list[Response]) -> Iterator[str]:
    """Yield what was to be seen, in the words that the webhook finds now."""
    if refused := [each.status.message for each in given if not each.allowed]:
        yield from (click.style(line, fg="red") for line in _lines(refused[-1]))
    elif warned := [warning for each in given for warning in each.warnings]:
        yield from (click.style(line, fg="yellow") for line in _lines(warned[0]))
    elif step.said:
        yield from _lines(step.said.strip())
    elif kept := _held(given):
        yield click.style(f"kept as they are live: {', '.join(kept)}", fg="yellow")


def _held(given: list[Response]) -> list[str]:
    """Return the fields that the webhook put back in a reconciler's write."""
    paths = {edit.path for each in given for edit in each.edits}
    return sorted(path for path in paths if not path.startswith("/metadata/"))


def _lines(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for line in lines[:MOST_LINES]:
        yield from _wrapped(line, "  ")


def _wrapped(line: str, hanging: str, width: int = WIDTH - len(_MARGIN)) -> list[str]:
    return textwrap.wrap(line, width, subsequent_indent=hanging, break_on_hyphens=False)
