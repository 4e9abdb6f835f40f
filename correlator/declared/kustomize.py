"""Kustomize: what `kustomize build` makes of a folder, or `kubectl kustomize` in its absence."""

import shutil
from pathlib import Path
from typing import Final

from correlator.declared.documents import Manifests, parse_documents
from correlator.declared.errors import ProgramMissing
from correlator.declared.programs import output_of

_FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def is_kustomization(folder: Path) -> bool:
    """Tell whether *folder* is to be built with Kustomize."""
    return any((folder / name).is_file() for name in _FILES)


def build_kustomization(folder: Path) -> Manifests:
    """Return what Kustomize makes of *folder*."""
    return parse_documents(output_of([*_command(), folder]), f"{folder.name} (kustomize build)")


def _command() -> list[str]:
    if kustomize := shutil.which("kustomize"):
        return [kustomize, "build"]
    if kubectl := shutil.which("kubectl"):
        return [kubectl, "kustomize"]
    raise ProgramMissing("neither kustomize nor kubectl is installed; one of them builds overlays")
