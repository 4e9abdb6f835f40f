"""Stamps, keys and policies for tests that name only what matters to them."""

from datetime import timedelta
from typing import Any

from glasswarden.keys.ring import Key, Ring
from glasswarden.policy.breakglass.tokens import Stamp
from glasswarden.policy.types import Actor, GrantOperation
from tests.policy.builders import NOW, WEB

RESPONDER = Actor("responder", "7f3c", ("responders",))
SECOND = Actor("second-responder", "11d0", ("responders",))
LEAD = Actor("lead", "90aa", ("leads",))
OUTSIDER = Actor("outsider", "c4d1", ("guests",))

KEY = Key("20260101T000000Z", b"k" * 32, NOW - timedelta(days=59))
RING = Ring([KEY])

HOUR = timedelta(hours=1)


def a_stamp(**differing: Any) -> Stamp:  # noqa: ANN401 - any field of a stamp
    """Return the responder's grant of an hour on Flux's Deployment, but for *differing*."""
    fields: dict[str, Any] = {
        "id": "01jd9r",
        "cluster": "default",
        "uid": WEB.uid,
        "version": "41",
        "actor": RESPONDER.name,
        "actor_uid": RESPONDER.uid,
        "rule": "responders",
        "ticket": "INC-42",
        "operations": (GrantOperation.UPDATE, GrantOperation.SCALE),
        "start": NOW,
        "expires": NOW + HOUR,
    }
    return Stamp(**fields | differing)
