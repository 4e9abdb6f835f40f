"""A story that a real API server wrote down; `python -m tests.cluster.bypasses` records it anew."""

import json
from pathlib import Path
from typing import Any, Final

from glasswarden.audit.event import Event
from glasswarden.audit.files import read_events
from glasswarden.kube.objects import Object, ref_of
from glasswarden.policy.load import parse_document
from glasswarden.policy.policy import Policy, policy_of

FOLDER: Final = Path(__file__).with_name("recorded")
LOG: Final = FOLDER / "audit.jsonl"
POLICY: Final[Policy] = policy_of(
    parse_document(
        "apiVersion: glasswarden.io/v1\nkind: Policy\nmode: warn\nemergencyGroup: leads\n"
    )
)


def events() -> list[Event]:
    """Return what was written down."""
    return list(read_events([LOG], refuse))


def documents() -> list[dict[str, Any]]:
    """Return the same as JSON, to be made poorer."""
    return [json.loads(line) for line in LOG.read_text().splitlines()]


def live(kind: str, name: str) -> Object:
    """Return an object as it was in the end."""
    found: list[Object] = json.loads((FOLDER / "live.json").read_text())
    return next(each for each in found if (ref_of(each).kind, ref_of(each).name) == (kind, name))


def refuse(flaw: object) -> None:
    raise AssertionError(flaw)
