"""A drifted field, as far as finding its author is concerned."""

from dataclasses import dataclass, field
from datetime import datetime

from glasswarden.kube.compare import Value
from glasswarden.kube.managed import Entry
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Path


@dataclass(frozen=True, slots=True)
class Drifted:
    """One field that is not as Git says."""

    cluster: str
    ref: Ref
    """With the live object's uid, where there is a live object."""

    path: Path
    declared: Value
    live: Value
    holders: tuple[Entry, ...] = ()
    """The live managedFields entries that own the field: hints about its last writers."""

    delegate: str = ""
    """Who owns the field by the policy, if somebody other than Git does."""


@dataclass(frozen=True, slots=True)
class Witness:
    """What the API server's audit log says about one record."""

    user: str
    """Who authenticated; under impersonation not the record's actor."""

    stored: bool
    """Whether the API server answered that it stored the write."""

    source: str = ""
    """The address that the request came from."""

    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A time in which writes to guarded objects may have passed without a record."""

    since: datetime
    until: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known beside the records."""

    records_since: datetime | None = None
    """When the cluster's ledger began; none where it holds nothing."""

    witnesses: dict[str, Witness] = field(default_factory=dict)
    """By the id of the record."""

    unseen: tuple[Unseen, ...] = ()
