"""What the annotations of an event say about our webhooks: what they recorded, when they failed."""

import re
import uuid
from collections.abc import Iterator
from typing import Final

from glasswarden.audit.event import Event

FAILED_OPEN: Final = "failed-open.validating.webhook.admission.k8s.io/"

_OURS: Final = re.compile(r"[a-z0-9.-]+\.glasswarden\.io")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def records_in(event: Event) -> Iterator[tuple[str, str]]:
    """Yield the id and the digest of each record that *event* names.

    There may be several: the API server asks again when it tries a write again, and about each
    object of a collection.
    """
    for key, digest in event.annotations.items():
        webhook, _, record = key.rpartition("/")
        if _OURS.fullmatch(webhook) and _is_uuid(record) and _DIGEST.fullmatch(digest):
            yield record, digest


def failed_open(event: Event) -> tuple[str, ...]:
    """Return those of our webhooks that were to be asked, did not answer, and were passed by.

    Only validating ones: what a mutating one misses, a validating one still sees.
    """
    return tuple(
        name
        for key, name in event.annotations.items()
        if key.startswith(FAILED_OPEN) and _OURS.fullmatch(name)
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
