"""`glasswarden grants sweep`: take what is left of grants that are over off their objects."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import click

from correlator.grants.stories import stories_since
from glasswarden.cli.breakglass.shown import namespace_of
from glasswarden.cli.breakglass.view import is_followed, is_open, view_of
from glasswarden.cli.grants.options import (
    ledger_option,
    required,
    scope_options,
)
from glasswarden.cli.kubectl import Kubectl
from glasswarden.cli.kubectl_options import kubectl_of, kubectl_options
from glasswarden.cli.ledger.options import opened
from glasswarden.kube.objects import Object, Ref, annotations_of, labels_of, metadata_of
from glasswarden.ledger.record import Attempt
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.printable import printable


@click.command("sweep")
@ledger_option
@scope_options
@kubectl_options
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def command(
    *,
    address: str | None,
    since: datetime,
    cluster: str | None,
    dry_run: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Take the marks of grants and requests that are over off their objects.

    Nothing depends on it: a stamp that is out of date counts for nothing, and leaves with the next
    write that the webhook sees. What is in force, or waits for approval, is left alone.
    """
    with opened(required(address)) as ledger:
        story = stories_since(ledger, since, cluster)
    if len({attempt.cluster for attempt in story}) > 1:
        raise click.UsageError("The ledger knows several clusters: choose one with --cluster.")
    refs, kubectl = refs_of(story), kubectl_of(options)
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
    waits = view.petition is not None and now < view.petition.deadline
    over = view.stamp is not None or view.petition is not None
    if is_open(view, now) or is_followed(view, now) or waits or not over:
        return []
    return sorted(names.ANNOTATIONS.intersection(annotations_of(obj)))


def _sweep(kubectl: Kubectl, ref: Ref, *, dry_run: bool) -> bool | None:
    """Sweep one object; tell whether there was anything, and nothing where it failed."""
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
        click.echo(f"{printable(str(ref))}: {printable(error.message)}", err=True)
        return None
    click.echo(f"{printable(str(ref))}: {', '.join(short(mark) for mark in marks)}")
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
