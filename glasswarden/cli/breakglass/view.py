"""How break-glass stands on one object, in words. Nothing is proven here: that is the guard's."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from glasswarden.kube.objects import Object, annotations_of, ref_of
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.peek import peek
from glasswarden.policy.breakglass.petition import Petition
from glasswarden.policy.breakglass.stamp import Stamp


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
    lines.append(f"  {stamp.actor}, {stamp.ticket}; may {', '.join(stamp.operations)}")
    if stamp.groups:
        lines.append(f"  shared with {', '.join(stamp.groups)}")
    lines += (f"  held: {path}" for path in stamp.held)
    return lines


def _without_grant(view: View, now: datetime) -> list[str]:
    petition = view.petition
    if petition is None or now >= petition.deadline:
        return [f"{view.subject}: nobody broke the glass."]
    asked = f"{petition.actor} asks for {left(timedelta(seconds=petition.ttl))}, {petition.ticket}"
    until = _moment(petition.deadline)
    return [
        f"{view.subject}: request {petition.id} waits for approval until {until}.",
        f"  {asked}: {view.reason}",
    ]


def left(span: timedelta) -> str:
    """Return *span* as people say it: `1 h 30 min`, `45 s`."""
    seconds = max(0, int(span.total_seconds()))
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{seconds} s"


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z}"
