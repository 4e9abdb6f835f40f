"""What GitOps engines have in common: marks on objects, and a way to read an owner from them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from glasswarden.kube.objects import Object, Ref, annotations_of, labels_of, ref_of
from glasswarden.kube.paths import Path, path_of


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose object it is: the engine, and the engine's object that describes it."""

    engine: str
    app: str
    """The application's name; empty where the engine's marks do not tell."""
    namespace: str | None
    """The namespace of the application's own object; none where the marks do not tell."""
    kind: str = ""
    """The kind of that object, such as ``Kustomization``; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One label or annotation by which an engine recognises its objects."""

    kind: Literal["annotation", "label"]
    key: str
    value: str | None = None
    """The only value that makes it a mark; none when any value does."""

    @property
    def path(self) -> Path:
        """Where the mark stands in an object."""
        return path_of("metadata", f"{self.kind}s", self.key)


@dataclass(frozen=True, slots=True)
class Subject:
    """The part of an object that ownership is read from."""

    ref: Ref
    labels: Object
    annotations: Object

    def label(self, key: str) -> str:
        """Return the label's value, empty when it is absent or not text."""
        value = self.labels.get(key)
        return value if isinstance(value, str) else ""

    def annotation(self, key: str) -> str:
        """Return the annotation's value, empty when it is absent or not text."""
        value = self.annotations.get(key)
        return value if isinstance(value, str) else ""

    def carries(self, mark: Mark) -> bool:
        """Tell whether *mark* is there, with its only value if it has one, or else with any."""
        found = (self.labels if mark.kind == "label" else self.annotations).get(mark.key)
        return isinstance(found, str) and mark.value in (None, found)

    def read(self, mark: Mark) -> str:
        """Return the value found where *mark* stands."""
        return self.label(mark.key) if mark.kind == "label" else self.annotation(mark.key)


@dataclass(frozen=True, slots=True)
class Engine:
    """A GitOps engine: its name, its marks, and how it claims an object."""

    name: str
    marks: tuple[Mark, ...]
    """Every key that ownership is read from: a write that touches one touches ownership."""
    signs: tuple[Mark, ...]
    """The marks of which each owned object carries at least one: a cheap test that misses none."""
    claim: Callable[[Subject], Owner | None]


def subject_of(obj: Object) -> Subject:
    """Return what engines look at in *obj*."""
    return Subject(ref_of(obj), labels_of(obj), annotations_of(obj))
