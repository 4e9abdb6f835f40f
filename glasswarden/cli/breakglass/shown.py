"""Looking at an object through kubectl, and saying how break-glass stands on it."""

from datetime import UTC, datetime

import click

from glasswarden.cli.breakglass.view import View, is_open, sentences, view_of
from glasswarden.cli.kubectl import Kubectl


def look(kubectl: Kubectl, target: str) -> View:
    """Return how break-glass stands on *target*."""
    return view_of(kubectl.get(target))


def show(view: View) -> None:
    """Say it."""
    click.echo("\n".join(sentences(view, datetime.now(UTC))))


def look_and_show(kubectl: Kubectl, target: str) -> View:
    """Look, and say what was seen."""
    view = look(kubectl, target)
    show(view)
    return view


def is_open_now(view: View) -> bool:
    """Tell whether a grant holds at this moment."""
    return is_open(view, datetime.now(UTC))
