"""What break-glass has written on an object: the annotations as they stand, their tokens read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from glasswarden.keys.ring import Ring
from glasswarden.kube.objects import Object, annotations_of, labels_of, metadata_of
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.declared import declared_tokens, owned_tokens
from glasswarden.policy.breakglass.petition import Petition, read_petition, waits
from glasswarden.policy.breakglass.stamp import Stamp, flaw, read
from glasswarden.policy.breakglass.token import TokenInvalid

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A token that does not count, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Notes:
    """The marks of break-glass on one object at one time."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Our annotations, by their full names."""
    grant: Stamp | Unreadable | None = None
    petition: Petition | Unreadable | None = None
    active: bool = False
    """Whether the label of a Namespace with a grant is there."""
    declared: frozenset[str] = frozenset()
    """The tokens that somebody else than the webhook brought: none of them ever counts."""
    owned: frozenset[str] = frozenset()
    """The tokens that a field manager owns, there or not."""

    def get(self, name: str) -> str | None:
        """Return the annotation's text, or nothing."""
        return self.texts.get(name)

    def live(self, cluster: str, uid: str, now: datetime) -> Stamp | None:
        """Return the grant that is in force on the object, if one is.

        It counts only beside its reason: taking that off ends it, whether or not the webhook was
        there to clear up.
        """
        stamp = self.counted()
        return None if stamp is None or flaw(stamp, cluster, uid, now) else stamp

    def counted(self) -> Stamp | None:
        """Return the genuine stamp beside its reason, in force or not."""
        stamp = self.grant
        if not isinstance(stamp, Stamp) or stamp.trial or names.GRANT in self.declared:
            return None
        return stamp if stamp.namespace or names.REASON in self.texts else None

    def waiting(self, cluster: str, uid: str, now: datetime) -> Petition | None:
        """Return the request that waits for approval on the object, if one does."""
        petition = self.petition
        if not isinstance(petition, Petition) or petition.trial or names.REQUEST in self.declared:
            return None
        return petition if waits(petition, cluster, uid, now) else None


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
    """What stands on the Namespace that the object is in."""
    namespace_uid: str = ""
    namespace_unknown: bool = False
    """Whether nobody could tell what stands on it: as good as nothing, but to end a hold."""
    scaled: bool = False
    """Of a deletion under the Namespace's grant: whether the object was scaled meanwhile, which
    leaves no stamp on it."""
    open: OpenGrants = OpenGrants()


EMPTY: Final = Glass()


def has_notes(obj: Object | None) -> bool:
    """Tell, at little cost, whether anything of ours stands on *obj*."""
    if obj is None:
        return False
    return not names.ANNOTATIONS.isdisjoint(annotations_of(obj)) or _is_active(obj)


def notes_of(obj: Object | None, ring: Ring) -> Notes:
    """Return what stands on *obj*."""
    if obj is None:
        return NONE
    owned = owned_tokens(obj)
    if not has_notes(obj):
        return Notes(owned=owned) if owned else NONE
    found = annotations_of(obj)
    texts = {name: str(found[name]) for name in names.ANNOTATIONS if name in found}
    return Notes(
        texts,
        _read(texts.get(names.GRANT), read, ring),
        _read(texts.get(names.REQUEST), read_petition, ring),
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
