"""What was applied last, as client-side apply notes it on the object. Anybody can edit that."""

from typing import Final

import msgspec

from glasswarden.kube.objects import Object, annotations_of

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def last_applied(live: Object) -> Object | None:
    """Return what was applied last to *live*, nothing where that is not told."""
    try:
        return msgspec.json.decode(str(annotations_of(live).get(_LAST_APPLIED, "")), type=dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
