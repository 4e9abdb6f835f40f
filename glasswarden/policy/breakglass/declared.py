"""Tokens that somebody declares, in Git or by hand, in place of the webhook: they never count.

The webhook writes a token after the API server has put down who owns which field, so nobody ever
owns one of its tokens. A reconciler brings from Git whatever is there, an old token as well, and
while the mutating webhook is away nothing takes that off: but then it is the reconciler's.
"""

import json
from typing import Final

from glasswarden.kube.managed import Entry, FieldsV1, child_of, entries_of
from glasswarden.kube.objects import Object, annotations_of
from glasswarden.kube.paths import Key
from glasswarden.kube.release import LAST_APPLIED
from glasswarden.policy.breakglass import names

TOKENS: Final = (names.GRANT, names.REQUEST)

WHY: Final = "it was applied, from Git or by hand: leave it out of what is applied"
"""Why such a token does not count."""


def declared_tokens(obj: Object) -> frozenset[str]:
    """Return which of the tokens on *obj* somebody brought, by the names of their annotations."""
    found, owned = annotations_of(obj), owned_tokens(obj)
    return frozenset(
        name for name in TOKENS if name in found and (name in owned or _is_last_applied(name, obj))
    )


def owned_tokens(obj: Object) -> frozenset[str]:
    """Return which tokens a field manager owns on *obj*, there or not.

    A token that the webhook took off stays owned, and so would the next one be that it writes.
    """
    entries = entries_of(obj)
    return frozenset(name for name in TOKENS if any(_owns(entry, name) for entry in entries))


def _owns(entry: Entry, name: str) -> bool:
    node: FieldsV1 | None = entry.fields
    for key in ("metadata", "annotations", name):
        node = child_of(node, Key(key)) if node is not None else None
    return node is not None


def _is_last_applied(name: str, obj: Object) -> bool:
    """Tell whether a client-side apply brought the very token; an older one was replaced since."""
    found = annotations_of(obj)
    text = found.get(LAST_APPLIED)
    if not isinstance(text, str) or name not in text:
        return False
    try:
        return bool(json.loads(text)["metadata"]["annotations"][name] == found[name])
    except (KeyError, TypeError, ValueError, RecursionError):
        return False
