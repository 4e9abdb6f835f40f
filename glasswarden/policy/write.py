"""One write, as the guard sees it: the question that `decide` answers."""

from dataclasses import dataclass
from enum import StrEnum

from glasswarden.kube.diff import Change
from glasswarden.kube.objects import Ref
from glasswarden.kube.owners import Owner


class Operation(StrEnum):
    """What admission calls the act; a PATCH or an apply arrives as one of the first two."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who the API server says is writing. Under impersonation: the person being posed as."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Write:
    """A write that is about to happen."""

    operation: Operation
    object: Ref
    subresource: str
    actor: Actor
    manager: str
    owner: Owner | None
    changes: tuple[Change, ...]
    dry_run: bool
