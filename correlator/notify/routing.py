"""Whom an event is for. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from correlator.notify.document import Document, Route, Silence
from correlator.notify.event import Event
from glasswarden.policy.matching import names_of


def targets_of(event: Event, document: Document) -> tuple[str, ...]:
    """Return the names of the targets that *event* goes to, each once."""
    return tuple(dict.fromkeys(_targets(event, document.routes)))


def _targets(event: Event, routes: Iterable[Route]) -> Iterator[str]:
    for route in routes:
        if _fits(event, route):
            yield from route.targets
            if not route.also:
                return


def _fits(event: Event, route: Route) -> bool:
    bare = event.application.rpartition("/")[2]
    wanted = (
        (route.namespaces, {event.namespace}),
        (route.applications, {event.application, bare}),
        (route.engines, {event.engine}),
        (route.teams, {event.team}),
        (route.clusters, {event.cluster}),
    )
    if route.events and event.kind not in route.events:
        return False
    return all(
        not patterns or any(name in names_of(patterns) for name in found if name)
        for patterns, found in wanted
    )


def is_silenced(event: Event, silences: Iterable[Silence], now: datetime) -> bool:
    """Tell whether somebody asked not to be told about the ticket of *event* any more."""
    return bool(event.ticket) and any(
        now < silence.until and event.ticket in names_of([silence.ticket]) for silence in silences
    )
