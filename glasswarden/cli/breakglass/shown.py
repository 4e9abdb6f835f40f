"""Looking at an object through kubectl, and saying how break-glass stands on it."""

from datetime import UTC, datetime

import click

from glasswarden.cli.breakglass.view import View, in_force, is_open, sentences, view_of
from glasswarden.cli.kubectl import Kubectl, KubectlFailed
from glasswarden.kube.objects import Object, Ref, metadata_of


def look(kubectl: Kubectl, target: str) -> View:
    """Return how break-glass stands on *target*, and on the Namespace that it is in."""
    found = kubectl.get(target)
    return view_of(found, namespace_of(kubectl, found))


def namespace_of(kubectl: Kubectl, obj: Object) -> Object | None:
    """Return the Namespace that *obj* is in; nothing where there is none, or it may not be read."""
    name = metadata_of(obj).get("namespace")
    if not name:
        return None
    try:
        return kubectl.find(Ref("", "v1", "Namespace", "", name))
    except KubectlFailed:
        return None


def elsewhere(view: View) -> str | None:
    """Return the Namespace that the grant stands on which holds for the object, if one does."""
    where = in_force(view, datetime.now(UTC))
    return where.subject if where is not None and where is not view else None


def show(view: View) -> None:
    """Say it."""
    click.echo("\n".join(sentences(view, datetime.now(UTC))))


def look_and_show(kubectl: Kubectl, target: str) -> View:
    """Look, and say what was seen."""
    view = look(kubectl, target)
    show(view)
    return view


def is_open_now(view: View) -> bool:
    """Tell whether a grant on the object itself holds at this moment."""
    return is_open(view, datetime.now(UTC))
