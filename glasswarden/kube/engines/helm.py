"""Plain Helm: the release that an object was installed by.

Opt-in: ``helm upgrade`` by hand is a way of working, not drift, unless the policy says otherwise.
"""

from typing import Final

from glasswarden.kube.engines.engine import Engine, Mark, Owner, Subject

NAME: Final = "helm"
MANAGED_BY: Final = Mark("label", "app.kubernetes.io/managed-by", "Helm")
RELEASE_NAME: Final = Mark("annotation", "meta.helm.sh/release-name")
RELEASE_NAMESPACE: Final = Mark("annotation", "meta.helm.sh/release-namespace")


def _claim(subject: Subject) -> Owner | None:
    # Helm adopts and upgrades an object only when all three are there (`checkOwnership` in Helm).
    name, namespace = subject.read(RELEASE_NAME), subject.read(RELEASE_NAMESPACE)
    if subject.read(MANAGED_BY) != MANAGED_BY.value or not name or not namespace:
        return None
    return Owner(NAME, name, namespace)


ENGINE: Final = Engine(
    NAME,
    marks=(MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE),
    signs=(RELEASE_NAME,),
    claim=_claim,
)
