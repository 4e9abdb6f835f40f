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


def view_of(obj: Object) -> View:
    """Return how break-glass stands on *obj*."""
    annotations = annotations_of(obj)
    stamp = peek(annotations.get(names.GRANT), Stamp)
    petition = peek(annotations.get(names.REQUEST), Petition)
    return View(str(ref_of(obj)), stamp, petition, str(annotations.get(names.REASON, "")))


def is_open(view: View, now: datetime) -> bool:
    """Tell whether a grant holds."""
    return view.stamp is not None and now < view.stamp.expires


def sentences(view: View, now: datetime) -> list[str]:
    """Return what a person wants to know about it."""
    stamp = view.stamp
    if stamp is None:
        return _without_grant(view, now)
    if now >= stamp.expires:
        lines = [f"{view.subject}: the grant {stamp.id} expired at {_moment(stamp.expires)}."]
    else:
        rest = left(stamp.expires - now)
        lines = [f"{view.subject}: open until {_moment(stamp.expires)}, {rest} left."]
    lines.append(f"  {stamp.actor}, {stamp.ticket}: {view.reason}")
    if now < stamp.expires:
        lines.append(f"  may {', '.join(stamp.operations)}")
    if stamp.groups:
        lines.append(f"  shared with {', '.join(stamp.groups)}")
    lines += (f"  held: {path}" for path in stamp.held)
    return lines


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
