"""One write, as the guard sees it: the question that `decide` answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from glasswarden.kube.diff import Change
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.policy.breakglass.annotations import EMPTY, Glass
from glasswarden.policy.types import Actor, Operation

__all__ = ["Actor", "Operation", "Write"]


@dataclass(frozen=True, slots=True)
class Write:
    """A write that is about to happen."""

    operation: Operation
    target: Ref
    """The object that is written to; for a subresource, the object behind it."""

    subresource: str
    actor: Actor
    manager: str
    """The field manager that the writer chose, or the API server for them: a hint, never proof."""

    owner: Owner | None
    """Whose object it is, by what it was before this write."""

    steers: bool = False
    """Whether the object tells an engine what to do: an Application, a Kustomization, …"""

    marked: bool = True
    """Whether the owner is read from marks; an engine's own object without any is its own owner."""

    diverts: bool = False
    """Whether it has an Application sync to something other than what it follows."""

    labels: Mapping[str, object] = field(default_factory=dict)
    terminating: bool = False
    """Whether the object was already being deleted."""

    controlled: bool = False
    """Whether another object's controller made it: a ReplicaSet's Pod, a Job of a CronJob."""

    changes: tuple[Change, ...] = ()
    """What an update changes, noise left out; empty for a create and a delete."""

    generation: int = 0
    """How often the object's spec was written, this write included; 0 where that is not counted."""

    dry_run: bool = False

    glass: Glass = EMPTY
    """What it has to do with break-glass; of that, nothing is among the changes."""
