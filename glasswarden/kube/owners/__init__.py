"""Whose object is it? The GitOps engine and application behind an object's labels and annotations.

To add an engine: one file with its `ENGINE`, one line below. Nothing here asks a cluster, so the
answer is what the object says of itself; a mark that was evidently copied from another object is
not ownership.
"""

from typing import Final

from glasswarden.kube.objects import Object, has_controller
from glasswarden.kube.owners import argocd, configsync, fleet, flux, helm, kapp, pulumi, sveltos
from glasswarden.kube.owners.engine import Engine, Mark, Owner, Subject, subject_of

__all__ = [
    "DEFAULT_ENGINES",
    "OPTIONAL_ENGINES",
    "Engine",
    "Mark",
    "Owner",
    "marks_of",
    "owner_of",
]

DEFAULT_ENGINES: Final[tuple[Engine, ...]] = (
    argocd.ENGINE,
    flux.ENGINE,
    configsync.ENGINE,
    fleet.ENGINE,
    kapp.ENGINE,
    sveltos.ENGINE,
)
"""In the order they are asked; Helm comes after them, for they deploy charts themselves."""

OPTIONAL_ENGINES: Final[tuple[Engine, ...]] = (
    helm.ENGINE,
    pulumi.ENGINE,
)
"""Known, but only asked where the policy names them."""

_ENDPOINTS_LABEL: Final = "endpoints.kubernetes.io/managed-by"


def owner_of(obj: Object, engines: tuple[Engine, ...] = DEFAULT_ENGINES) -> Owner | None:
    """Return the owner that the first of *engines* to claim *obj* names, or nothing.

    A child that Kubernetes made from an owned object is its controller's, not Git's: pods inherit
    the labels and annotations of their template, marks included, and are replaced at will.
    """
    subject = subject_of(obj)
    for engine in engines:
        owner = engine.claim(subject)
        if owner is not None:
            return None if has_controller(obj) or _is_endpoints_of_service(subject) else owner
    return None


def marks_of(engines: tuple[Engine, ...]) -> frozenset[Mark]:
    """Return every mark of *engines*."""
    return frozenset(mark for engine in engines for mark in engine.marks)


def _is_endpoints_of_service(subject: Subject) -> bool:
    # The endpoints controller copies its Service's labels but sets no ownerReference.
    return (
        subject.ref.kind == "Endpoints"
        and subject.ref.group == ""
        and subject.label(_ENDPOINTS_LABEL) == "endpoint-controller"
    )
