"""What is to be written back: a field as it is live, or an object that is gone."""

from collections.abc import Sequence
from dataclasses import dataclass

from correlator.backport.values import Steps
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import ROOT, Path


@dataclass(frozen=True, slots=True)
class Wanted:
    """One field."""

    ref: Ref
    path: Path
    """The root where the whole object was deleted."""
    value: Value
    """As it is live; `ABSENT` where it was taken away."""
    live: Object | None = None
    """The object as it is live."""
    records: tuple[str, ...] = ()
    actor: str = ""
    ticket: str = ""

    @property
    def steps(self) -> Steps:
        """The way to the field."""
        return self.path.steps

    @property
    def is_deletion(self) -> bool:
        """Whether the whole object is to go."""
        return self.path == ROOT and self.value is ABSENT

    def __str__(self) -> str:
        return f"{self.ref}" if self.path == ROOT else f"{self.ref} {self.path}"


def declared_as(ref: Ref, manifests: Sequence[Object], refs: Sequence[Ref]) -> Object | None:
    """Return which of *manifests*, whose names are *refs*, declares *ref*.

    A manifest may leave its namespace to whoever applies it; one that names it counts first.
    """
    for namespace in (ref.namespace, ""):
        wanted = (ref.group, ref.kind, namespace, ref.name)
        for manifest, each in zip(manifests, refs, strict=True):
            if (each.group, each.kind, each.namespace, each.name) == wanted:
                return manifest
    return None
