"""Which lines of a live object are as Git declares them, in which file and at which revision."""

from dataclasses import dataclass
from typing import Any, Final

from correlator.declared.documents import Manifests
from correlator.declared.lookup import lookup_in
from correlator.detector.meaning import declared_form
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.equality import identical
from glasswarden.kube.lookup import value_at
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import Path

SHORT: Final = 12
"""Characters of a commit's id."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What Git says about one object."""

    manifest: Object
    revision: str
    """The commit; with `-dirty` where files were edited since, empty where there is none."""
    origin: str

    def says(self, path: Path, value: Any) -> bool:  # noqa: ANN401 - any JSON value
        """Tell whether Git sets *path* to *value*."""
        said = value_at(self.manifest, path)
        return said is not ABSENT and identical(said, value)

    def __str__(self) -> str:
        commit, _, edited = self.revision.partition("-")
        short = f"{commit[:SHORT]}-{edited}" if edited else commit[:SHORT]
        return " ".join(filter(None, (short, self.origin)))


def declaration_of(ref: Ref, manifests: Manifests) -> Declaration | None:
    """Return what *manifests* say about *ref*, none where they do not declare it."""
    manifest = lookup_in(manifests)(ref)
    if manifest is None:
        return None
    origin = next(each.origin for each in manifests.objects if each.manifest is manifest)
    return Declaration(declared_form(manifest, ref), manifests.revision, origin)
