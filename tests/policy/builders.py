"""Writes for tests that name only what matters to them."""

from typing import Any

from glasswarden.kube.diff import Change
from glasswarden.kube.objects import Ref
from glasswarden.kube.owners import Owner
from glasswarden.kube.paths import parse_path
from glasswarden.policy.write import Actor, Operation, Write

FLUX = Owner("flux", "shop", "flux-system", "Kustomization")
ARGOCD = Owner("argocd", "shop", "argocd", "Application")
WEB = Ref("apps", "v1", "Deployment", "shop", "web", "0b6f9e0c")


def a_write(**differing: Any) -> Write:  # noqa: ANN401 - any field of a write
    """Return a developer's edit of Flux's Deployment, like any other but for *differing*."""
    fields: dict[str, Any] = {
        "operation": Operation.UPDATE,
        "object": WEB,
        "subresource": "",
        "actor": Actor("developer", groups=("developers",)),
        "manager": "kubectl-edit",
        "owner": FLUX,
        "changes": (a_change("/spec/replicas", 3, 5),),
        "dry_run": False,
    }
    return Write(**fields | differing)


def a_change(path: str, old: object, new: object) -> Change:
    """Return a change at *path*."""
    return Change(parse_path(path), old, new, "kubectl-edit", "Update")
