"""The rules of one cluster, with defaults that serve where nothing was configured."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from glasswarden.kube.owners import Owner
from glasswarden.policy.write import Actor

DEFAULT_CONTROLLERS: Mapping[str, frozenset[str]] = {
    "argocd": frozenset(
        {
            "system:serviceaccount:argocd:argocd-application-controller",
            "system:serviceaccount:argocd:argocd-server",
        }
    ),
    "flux": frozenset(
        {
            "system:serviceaccount:flux-system:helm-controller",
            "system:serviceaccount:flux-system:kustomize-controller",
        }
    ),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """What the guard of one cluster goes by."""

    cluster: str = "default"
    """The cluster's name, as records and reports show it."""

    controllers: Mapping[str, frozenset[str]] = field(default_factory=lambda: DEFAULT_CONTROLLERS)
    """Per engine, the users that reconcile for it."""

    def trusts(self, actor: Actor, owner: Owner) -> bool:
        """Whether *actor* writes on behalf of *owner*'s engine.

        By the authenticated user name alone: a field manager can be chosen by anybody.
        """
        return actor.name in self.controllers.get(owner.engine, frozenset())
