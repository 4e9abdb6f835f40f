"""How break-glass stands on one object, in words. Nothing is proven here: that is the guard's."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from glasswarden.kube.objects import Object, annotations_of, ref_of
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.peek import peek
from glasswarden.policy.breakglass.petition import Petition
from glasswarden.policy.breakglass.stamp import Stamp

SECONDS: Final = 60
"""Of a minute; what is shorter than that is said in seconds."""


@dataclass(frozen=True, slots=True)
class View:
    """What the annotations of an object say."""

    subject: str
    stamp: Stamp | None
    petition: Petition | None
    """A request that waits for a second person."""

    reason: str
    around: "View | None" = None
    """The same of the Namespace that the object is in; nothing where nobody could look at it."""


def view_of(obj: Object, namespace: Object | None = None) -> View:
    """Return how break-glass stands on *obj*, and on the Namespace that it is in."""
    annotations = annotations_of(obj)
    stamp = peek(annotations.get(names.GRANT), Stamp)
    petition = peek(annotations.get(names.REQUEST), Petition)
    around = view_of(namespace) if namespace is not None else None
    reason = str(annotations.get(names.REASON, ""))
    return View(str(ref_of(obj)), stamp, petition, reason, around)


def is_open(view: View, now: datetime) -> bool:
    """Tell whether a grant on the object itself holds; one on its Namespace is told apart."""
    stamp = view.stamp
    if stamp is None or stamp.namespace or not view.reason:
        return False
    return now < stamp.expires


def in_force(view: View, now: datetime) -> View | None:
    """Return where the grant stands that holds for the object: on itself, or on its Namespace."""
    if is_open(view, now):
        return view
    return view.around if view.around is not None and is_open(view.around, now) else None


def is_followed(view: View, now: datetime) -> bool:
    """Tell whether the object's stamp follows from a grant on its Namespace that still holds."""
    stamp, around = view.stamp, view.around
    if stamp is None or not stamp.namespace:
        return False
    if around is None:
        return now < stamp.expires
    return is_open(around, now) and around.stamp is not None and around.stamp.id == stamp.id


def sentences(view: View, now: datetime) -> list[str]:
    """Return what a person wants to know about it."""
    where = in_force(view, now)
    held = view.stamp.held if view.stamp is not None else ()
    if where is not None and where.stamp is not None:
        known = held if where is view or is_followed(view, now) else ()
        by = "" if where is view else f", by the grant on {where.subject}"
        return [*_open(view.subject, where.stamp, where.reason, by, now), *map(_held, known)]
    if view.stamp is None:
        return _without_grant(view, now)
    if is_followed(view, now):
        text = "changed under a grant on its Namespace, which could not be read"
        return [f"{view.subject}: {text}.", *map(_held, held)]
    return [f"{view.subject}: {_ending(view.stamp, now)}.", *_whose(view.stamp, view.reason)]


def _open(subject: str, stamp: Stamp, reason: str, by: str, now: datetime) -> list[str]:
    rest = left(stamp.expires - now)
    return [
        f"{subject}: open until {_moment(stamp.expires)}, {rest} left{by}.",
        *_whose(stamp, reason),
        f"  may {', '.join(stamp.operations)}",
        *([f"  shared with {', '.join(stamp.groups)}"] if stamp.groups else []),
    ]


def _ending(stamp: Stamp, now: datetime) -> str:
    if stamp.namespace:
        return f"the grant {stamp.id} on its Namespace is over"
    if now >= stamp.expires:
        return f"the grant {stamp.id} expired at {_moment(stamp.expires)}"
    return f"the grant {stamp.id} was closed"


def _whose(stamp: Stamp, reason: str) -> list[str]:
    why = f": {reason}" if reason else ""
    return [f"  {stamp.actor}, {stamp.ticket}{why}"]


def _held(path: str) -> str:
    return f"  held: {path}"


def _without_grant(view: View, now: datetime) -> list[str]:
    petition = view.petition
    if petition is None or now >= petition.deadline:
        return [f"{view.subject}: no grant is in force."]
    asked = f"{petition.actor} asks for {left(timedelta(seconds=petition.ttl))}, {petition.ticket}"
    until = _moment(petition.deadline)
    return [
        f"{view.subject}: request {petition.id} waits for approval until {until}.",
        f"  {asked}: {view.reason}",
    ]


def left(span: timedelta) -> str:
    """Return *span* as people say it: `1 h 30 min`, `45 s`."""
    seconds = max(0, round(span.total_seconds()))
    if seconds < SECONDS:
        return f"{seconds} s"
    hours, minutes = divmod(round(seconds / SECONDS), 60)
    parts = [f"{hours} h"] if hours else []
    return " ".join([*parts, f"{minutes} min"] if minutes else parts)


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z}"
