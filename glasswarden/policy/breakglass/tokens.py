"""Stamps and requests: signed values in annotations, verified with nothing but keys.

A token is `base64url(JSON).key id.base64url(HMAC-SHA-256)`. What is signed begins with what the
token is for, so one kind is never taken for another.

A stamp is a grant on an object, issued only by the mutating webhook. The validating webhook allows
a stamp that was not there before only if it was issued for the very version of the object that is
written to (`is_fresh`): whatever is stored changes that version, so a stamp can be stored once, and
neither a replay nor a copy ever counts. It holds the fields that were changed under the grant, as
few paths as possible: an annotation has room for so many bytes, and no more.

A request waits for a second person; it is signed so that what is approved is what was asked for.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Generic, TypeVar

import msgspec

from glasswarden.keys.ring import Ring
from glasswarden.kube.diff import Change, find_changed_fields
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import ROOT, Fold, Path, Step, parse_path
from glasswarden.policy.types import Actor, GrantOperation


class TokenInvalid(Exception):
    """The text is no token that counts."""


class TokenMalformed(TokenInvalid):
    """It does not have the shape of one."""


class KeyUnknown(TokenInvalid):
    """It names a key that was never ours, or was revoked."""


class SignatureWrong(TokenInvalid):
    """Its content is not what was signed."""


T = TypeVar("T")


class Tokens(Generic[T]):
    """Writes and reads tokens of one kind."""

    def __init__(self, purpose: str, content: type[T]) -> None:
        self._domain = f"glasswarden.io/{purpose}\0".encode()
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(content)

    def issue(self, value: T, ring: Ring, now: datetime) -> str:
        """Return *value* as a token, signed with the key in use; raise `NoKey` without one."""
        payload = base64.urlsafe_b64encode(self._encoder.encode(value))
        key_id, mac = ring.sign(self._domain + payload, now)
        return f"{payload.decode()}.{key_id}.{base64.urlsafe_b64encode(mac).decode()}"

    def read(self, token: str, ring: Ring) -> T:
        """Return what *token* holds, or raise `TokenInvalid`: nothing unsigned is ever parsed."""
        try:
            payload, key_id, signature = token.encode("ascii").split(b".")
            mac = base64.b64decode(signature, b"-_", validate=True)
        except (ValueError, binascii.Error) as error:
            raise TokenMalformed("it is no token of three parts") from error
        if ring.get(key_id.decode()) is None:
            raise KeyUnknown("its key is not known, or was revoked")
        if not ring.verifies(key_id.decode(), self._domain + payload, mac):
            raise SignatureWrong("its signature does not fit its content")
        try:
            return self._decoder.decode(base64.urlsafe_b64decode(payload))
        except (ValueError, binascii.Error) as error:
            raise TokenMalformed("its content is of another version") from error


SKEW: Final = timedelta(seconds=30)
"""How far apart the clocks of two replicas may be. A grant counts on all of them as soon as one has
given it, and each ends it to the second by its own clock: up to that much earlier or later."""


class Stamp(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was granted: to whom, on what, until when, and which fields were changed under it."""

    id: str
    """The grant's own; an extension and the stamps of later writes keep it."""
    cluster: str
    uid: str
    """Of the object; for a grant on a Namespace, of the Namespace."""
    version: str
    """The resourceVersion that the object had before the write which brought this stamp."""
    actor: str
    actor_uid: str = ""
    groups: tuple[str, ...] = ()
    """Whose members may use it too; none unless the rule shares its grants."""
    approver: str = ""
    rule: str
    ticket: str
    operations: tuple[GrantOperation, ...]
    start: datetime
    expires: datetime
    hold: bool = True
    """Whether the owner's reconciler is kept from reverting what was changed."""
    held: tuple[str, ...] = ()
    """The paths of the fields that were changed under the grant."""
    namespace: str = ""
    """The uid of the Namespace whose grant this follows from. Such a stamp remembers held fields;
    it permits nothing by itself."""
    trial: bool = False
    """Made in a dry run, whose answer shows it to the person: never good for a real write."""


class Flaw(StrEnum):
    """Why a genuine stamp does not count here and now."""

    OTHER_CLUSTER = "it was issued in another cluster"
    OTHER_OBJECT = "it was issued for another object"
    OTHER_PERSON = "it was issued to somebody else"
    TOO_EARLY = "it is not valid yet"
    EXPIRED = "it has expired"
    OTHER_OPERATION = "it does not cover this operation"
    OTHER_VERSION = "it was issued for another write"


_STAMPS: Final = Tokens("breakglass/grant/v1", Stamp)


def issue_stamp(stamp: Stamp, ring: Ring, now: datetime) -> str:
    """Return *stamp* as a signed token; raise `NoKey` where nothing can sign."""
    return _STAMPS.issue(stamp, ring, now)


def read_stamp(token: str, ring: Ring) -> Stamp:
    """Return the stamp in *token*, or raise `TokenInvalid`."""
    return _STAMPS.read(token, ring)


def find_flaw(stamp: Stamp, cluster: str, uid: str, now: datetime) -> Flaw | None:
    """Return why *stamp* is not a live grant on the object with *uid*, if it is not."""
    if stamp.cluster != cluster:
        return Flaw.OTHER_CLUSTER
    if stamp.uid != uid or not uid:
        return Flaw.OTHER_OBJECT
    if now < stamp.start - SKEW:
        return Flaw.TOO_EARLY
    return Flaw.EXPIRED if now >= stamp.expires else None


def check_stamp(
    stamp: Stamp, *, cluster: str, uid: str, actor: Actor, operation: GrantOperation, now: datetime
) -> Flaw | None:
    """Return why *stamp* does not let *actor* do *operation* to the object, if it does not."""
    found = find_flaw(stamp, cluster, uid, now)
    if found is not None:
        return found
    if not is_grantee(stamp, actor):
        return Flaw.OTHER_PERSON
    return None if operation in stamp.operations else Flaw.OTHER_OPERATION


def is_grantee(stamp: Stamp, actor: Actor) -> bool:
    """Return whether *actor* is who was granted, or shares in it by a group."""
    if actor.name == stamp.actor:
        # A name that was deleted and made anew belongs to somebody else.
        return actor.uid == stamp.actor_uid
    return not set(stamp.groups).isdisjoint(actor.groups)


def is_fresh(stamp: Stamp, version: str, *, trial: bool) -> bool:
    """Return whether *stamp* was issued for a write to the object at *version*, and in earnest."""
    return stamp.version == version != "" and stamp.trial == trial


class GrantRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who asks for what, and until when somebody may approve it."""

    id: str
    """What an approver writes into `approve`."""
    cluster: str
    uid: str
    version: str
    """As in a stamp: the object's, before the write that brought this request."""
    actor: str
    actor_uid: str = ""
    groups: tuple[str, ...] = ()
    rule: str
    ticket: str
    reason: str
    """A digest: the approver has read the reason that stands beside it."""
    ttl: int
    """Seconds, counted from the approval."""
    deadline: datetime
    trial: bool = False
    """Made in a dry run."""


_REQUESTS: Final = Tokens("breakglass/request/v1", GrantRequest)


def issue_request(request: GrantRequest, ring: Ring, now: datetime) -> str:
    """Return *request* as a signed token; raise `NoKey` where nothing can sign.

    Its id stands in front, for whoever looks for it with plain kubectl.
    """
    return f"{request.id}:{_REQUESTS.issue(request, ring, now)}"


def read_request(token: str, ring: Ring) -> GrantRequest:
    """Return the request in *token*, or raise `TokenInvalid`."""
    shown, _, signed = token.partition(":")
    request = _REQUESTS.read(signed, ring)
    if request.id != shown:
        raise SignatureWrong("it shows another id than was signed")
    return request


def digest_of(reason: str) -> str:
    """Return what a request keeps of a reason."""
    return hashlib.sha256(reason.encode()).hexdigest()[:16]


def is_waiting(request: GrantRequest, cluster: str, uid: str, now: datetime) -> bool:
    """Return whether *request* is this object's, and can still be approved."""
    return request.cluster == cluster and request.uid == uid != "" and now < request.deadline


MOST_BYTES: Final = 46 * 1024
"""As JSON; the token is a third longer, and stays below 64 kB with all else that is in it. All
annotations of an object together may have 256 kB."""


@dataclass(slots=True)
class _Node:
    """Where paths lead, or go on from."""

    steps: "dict[Step | None, _Node]" = field(default_factory=dict)
    is_end: bool = False


def merge_held_fields(
    ref: Ref, held: Iterable[str], changes: Iterable[Change]
) -> tuple[str, ...] | None:
    """Return *held* and the fields that *changes* to *ref* are about, none inside another.

    None where a stamp has no room for them.
    """
    root = _Node()
    nodes = Fold(root, _node_after)
    for path in (*map(parse_path, held), *find_changed_fields(ref, changes)):
        nodes.at(path).is_end = True
    found = _outermost(root)
    return tuple(sorted(found)) if len(msgspec.json.encode(found)) <= MOST_BYTES else None


def _node_after(node: _Node, path: Path) -> _Node:
    return node.steps.setdefault(path.step, _Node())


def _outermost(root: _Node) -> list[str]:
    """Return the paths that end below *root* inside no other, until they are surely too many."""
    found, room = [], MOST_BYTES
    pending: list[tuple[str, Step | None, _Node]] = [("", None, root)]
    while pending and room >= 0:
        parent, step, node = pending.pop()
        text = f"{parent}{step}" if step else parent
        if node.is_end:
            found.append(text or str(ROOT))
            room -= len(text)
        else:
            pending += ((text, *below) for below in node.steps.items())
    return found


class Act(StrEnum):
    """What a write means for a grant."""

    REQUESTED = "requested"
    """Somebody asked, and a second person must approve."""
    APPROVED = "approved"
    """A second person approved: the grant was issued."""
    ISSUED = "issued"
    USED = "used"
    EXTENDED = "extended"
    """Its time, ticket or reason was changed."""
    CLOSED = "closed"
    SETTLED = "settled"
    """After its end, somebody said what became of the changes."""


@dataclass(frozen=True, slots=True)
class GrantUse:
    """A write that asked for, used or ended a grant."""

    id: str
    act: Act
    actor: str
    """Who was granted; the writer may be an approver, or share in it."""
    rule: str
    ticket: str
    reason: str
    expires: datetime | None
    """Until when it holds; of a request, until when it can be approved."""
    approver: str = ""
    outcome: str = ""
    namespaced: bool = False
    """Whether it is a grant on the object's Namespace."""
