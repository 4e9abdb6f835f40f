"""What break-glass has written on an object: its annotations, with their tokens verified.

A token that somebody declares, in Git or by hand, in place of the webhook never counts. The webhook
writes a token after the API server has recorded who owns which field, so no field manager ever owns
one of its tokens. A reconciler applies whatever is in Git, an old token as well, and while the
mutating webhook is unavailable nothing removes it: but then the reconciler owns it.

`decode_unverified` reads a token without its keys, to show it to a person: never for a decision.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from glasswarden.keys.ring import Ring
from glasswarden.kube.hold import LAST_APPLIED
from glasswarden.kube.managed_fields import Entry, FieldsV1, child_of, entries_of
from glasswarden.kube.objects import Object, annotations_of, labels_of, metadata_of
from glasswarden.kube.paths import Key
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.tokens import (
    GrantRequest,
    Stamp,
    TokenInvalid,
    find_flaw,
    is_waiting,
    read_request,
    read_stamp,
)

TOKENS: Final = (names.GRANT, names.REQUEST)

DECLARED: Final = "it was applied, from Git or by hand: leave it out of what is applied"
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
    """Return whether a client-side apply set this very token, and not one replaced since."""
    found = annotations_of(obj)
    text = found.get(LAST_APPLIED)
    if not isinstance(text, str) or name not in text:
        return False
    try:
        return bool(json.loads(text)["metadata"]["annotations"][name] == found[name])
    except (KeyError, TypeError, ValueError, RecursionError):
        return False


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A token that does not count, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Notes:
    """The marks of break-glass on one object at one time."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Our annotations, by their full names."""
    grant: Stamp | Unreadable | None = None
    request: GrantRequest | Unreadable | None = None
    active: bool = False
    """Whether the label of a Namespace with a grant is there."""
    declared: frozenset[str] = frozenset()
    """The tokens that somebody else than the webhook brought: none of them ever counts."""
    owned: frozenset[str] = frozenset()
    """The tokens that a field manager owns, there or not."""

    def get(self, name: str) -> str | None:
        """Return the annotation's text, or nothing."""
        return self.texts.get(name)

    def live_grant(self, cluster: str, uid: str, now: datetime) -> Stamp | None:
        """Return the grant that is in force on the object, if one is.

        It counts only beside its reason: taking that off ends it, whether or not the webhook was
        there to clear up.
        """
        stamp = self.valid_stamp()
        return None if stamp is None or find_flaw(stamp, cluster, uid, now) else stamp

    def valid_stamp(self) -> Stamp | None:
        """Return the genuine stamp beside its reason, in force or not."""
        stamp = self.grant
        if not isinstance(stamp, Stamp) or stamp.trial or names.GRANT in self.declared:
            return None
        return stamp if stamp.namespace or names.REASON in self.texts else None

    def waiting_request(self, cluster: str, uid: str, now: datetime) -> GrantRequest | None:
        """Return the request that waits for approval on the object, if one does."""
        request = self.request
        if not isinstance(request, GrantRequest) or request.trial or names.REQUEST in self.declared:
            return None
        return request if is_waiting(request, cluster, uid, now) else None


NONE: Final = Notes()


@dataclass(frozen=True, slots=True)
class OpenGrants:
    """How many grants are open already."""

    person: int = 0
    namespace: int = 0


@dataclass(frozen=True, slots=True)
class Glass:
    """What a write has to do with break-glass."""

    before: Notes = NONE
    after: Notes = NONE
    """What is about to be stored; of a deletion and of a Scale, the same as before."""
    version: str = ""
    """The resourceVersion of the object before."""
    namespace: Notes = NONE
    """What is on the Namespace that the object is in."""
    namespace_uid: str = ""
    namespace_unknown: bool = False
    """Whether it is unknown what is on it: as good as nothing, but to end a hold."""
    scaled: bool = False
    """Of a deletion under the Namespace's grant: whether the object was scaled meanwhile, which
    leaves no stamp on it."""
    open: OpenGrants = OpenGrants()

    @property
    def differs(self) -> bool:
        """Whether the write changes anything of it."""
        # Most writes have nothing to do with break-glass, and one and the same empty notes.
        return self.before is not self.after and self.before != self.after


EMPTY: Final = Glass()


def has_notes(obj: Object | None) -> bool:
    """Return, at little cost, whether anything of ours is on *obj*."""
    if obj is None:
        return False
    return not names.ANNOTATIONS.isdisjoint(annotations_of(obj)) or _is_active(obj)


def notes_of(obj: Object | None, ring: Ring) -> Notes:
    """Return what of ours is on *obj*."""
    if obj is None:
        return NONE
    owned = owned_tokens(obj)
    if not has_notes(obj):
        return Notes(owned=owned) if owned else NONE
    found = annotations_of(obj)
    texts = {name: str(found[name]) for name in names.ANNOTATIONS if name in found}
    return Notes(
        texts,
        _read(texts.get(names.GRANT), read_stamp, ring),
        _read(texts.get(names.REQUEST), read_request, ring),
        _is_active(obj),
        declared_tokens(obj),
        owned,
    )


def without_notes(obj: Object) -> Object:
    """Return *obj* without anything of ours, sharing with it whatever stayed whole."""
    if not has_notes(obj):
        return obj
    metadata = dict(metadata_of(obj))
    _drop(metadata, "annotations", annotations_of(obj), names.ANNOTATIONS)
    if _is_active(obj):
        _drop(metadata, "labels", labels_of(obj), frozenset({names.ACTIVE}))
    return {**obj, "metadata": metadata}


def _drop(metadata: Object, name: str, found: Object, keys: frozenset[str]) -> None:
    if keys.isdisjoint(found):
        return
    rest = {key: value for key, value in found.items() if key not in keys}
    if rest:
        metadata[name] = rest
    else:
        # As if there had never been any: a map that came with ours leaves with them.
        del metadata[name]


def _is_active(obj: Object) -> bool:
    return obj.get("kind") == "Namespace" and names.ACTIVE in labels_of(obj)


def _read(token: str | None, reader: Callable[[str, Ring], T], ring: Ring) -> T | Unreadable | None:
    if token is None:
        return None
    try:
        return reader(token, ring)
    except TokenInvalid as error:
        return Unreadable(str(error))


def decode_unverified(token: object, content: type[T]) -> T | None:
    """Return what *token* holds, or none where it holds nothing of that kind."""
    if not isinstance(token, str):
        return None
    # A request's token begins with its id, for people.
    payload = token.partition(".")[0].rpartition(":")[2]
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(payload), type=content)
    except (ValueError, binascii.Error):
        return None


WORDS: Final = ("reverted", "backported", "delegated")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of the three words, and of which grant it is said."""

    word: str
    grant: str = ""
    """Its id, written as `delegated:ID`; without it, the grant whose stamp is on the object."""


def parse_outcome(text: str) -> Outcome | None:
    """Return what *text* says; nothing where it is no outcome."""
    word, _, grant = text.partition(":")
    return Outcome(word, grant) if word in WORDS else None


def describe_invalid_outcome(text: str) -> str:
    """Return why *text* is no outcome."""
    return f"the outcome {text!r} is none of {', '.join(sorted(WORDS))}"


def render_time(when: datetime | None) -> str:
    """Return *when* to the second, in UTC."""
    return f"{when:%Y-%m-%d %H:%M:%S} UTC" if when else "now"
