"""Flux: the owner labels that kustomize-controller and helm-controller put on what they apply.

The labels name the application only, so one that was copied by hand cannot be told from a true one.
"""

from typing import Final

from glasswarden.kube.engines.engine import Engine, Mark, Owner, Subject

NAME: Final = "flux"

_GROUPS: Final = (
    ("kustomize.toolkit.fluxcd.io", "Kustomization"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"),
)


def _claim(subject: Subject) -> Owner | None:
    for group, kind in _GROUPS:
        # Flux always sets both, and looks an object's owner up by both.
        name, namespace = subject.label(f"{group}/name"), subject.label(f"{group}/namespace")
        if name and namespace:
            return Owner(NAME, name, namespace, kind)
    return None


ENGINE: Final = Engine(
    NAME,
    marks=tuple(
        Mark("label", f"{group}/{part}") for group, _ in _GROUPS for part in ("name", "namespace")
    ),
    signs=tuple(Mark("label", f"{group}/name") for group, _ in _GROUPS),
    claim=_claim,
)
