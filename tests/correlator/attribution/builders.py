"""Drifted fields and the history behind them, for tests that name only what matters."""

from datetime import datetime, timedelta
from typing import Any

from correlator.attribution.context import Drifted
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.managed_fields import Entry
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import parse_path
from glasswarden.ledger.record import Attempt, ChangedField
from tests.ledger.builders import TIME, an_attempt

UID = "0b6f9e0c"


def at(minute: float) -> datetime:
    """Return an instant of the story, in minutes."""
    return TIME + timedelta(minutes=minute)


def drifted(path: str, live: Any = ABSENT, **differing: Any) -> Drifted:  # noqa: ANN401 - any value
    """Return the drifted field *path* of the Deployment shop/web."""
    fields: dict[str, Any] = {
        "cluster": "test",
        "ref": Ref("apps", "v1", "Deployment", "shop", "web", UID),
        "path": parse_path(path),
        "declared": 3,
        "live": live,
    }
    return Drifted(**fields | differing)


def wrote(minute: float, path: str, **differing: Any) -> Attempt:  # noqa: ANN401 - any field
    """Return an admitted write to *path*; its values are named as in `ChangedField`."""
    values = {name: differing.pop(name) for name in tuple(differing) if name in _OF_A_CHANGE}
    fields: dict[str, Any] = {
        "time": at(minute),
        "verdict": "allow",
        "clause": "breakglass",
        "actor": "responder",
        "changes": (ChangedField(path=path, **values),),
    }
    return an_attempt(**fields | differing)


_OF_A_CHANGE = {"old", "new", "old_masked", "new_masked", "old_cut", "new_cut"}


def scaled_by(manager: str) -> Entry:
    """Return the entry that scaling leaves: the API server gives it no time."""
    return Entry("Update", manager=manager, subresource="scale")


def held_by(manager: str, minute: float, operation: str = "Update", subresource: str = "") -> Entry:
    """Return a live managedFields entry that owns the field."""
    time = at(minute).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Entry(operation, manager=manager, time=time, subresource=subresource)  # type: ignore[arg-type]
