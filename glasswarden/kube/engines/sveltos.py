"""Sveltos: annotations naming the profile that deployed an object and the source it came from."""

from typing import Final

from glasswarden.kube.engines import cel
from glasswarden.kube.engines.engine import (
    CelClaim,
    Drift,
    Engine,
    Mark,
    Owner,
    Subject,
    service_accounts,
)

NAME: Final = "sveltos"

_PREFIX: Final = "projectsveltos.io/"
OWNER_KIND: Final = _PREFIX + "owner-kind"
OWNER_NAME: Final = _PREFIX + "owner-name"
REFERENCE_KIND: Final = _PREFIX + "reference-kind"
REFERENCE_NAME: Final = _PREFIX + "reference-name"
REFERENCE_NAMESPACE: Final = _PREFIX + "reference-namespace"


def _claim(subject: Subject) -> Owner | None:
    if name := subject.annotation(OWNER_NAME):
        return Owner(NAME, name, None, subject.annotation(OWNER_KIND) or "ClusterProfile")
    # Objects deployed before profiles left their name tell the ConfigMap or Secret they came from.
    if name := subject.annotation(REFERENCE_NAME):
        namespace = subject.annotation(REFERENCE_NAMESPACE) or None
        return Owner(NAME, name, namespace, subject.annotation(REFERENCE_KIND))
    return None


_SIGNS: Final = (Mark("annotation", OWNER_NAME), Mark("annotation", REFERENCE_NAME))

ENGINE: Final = Engine(
    name=NAME,
    title="Sveltos",
    marks=tuple(
        Mark("annotation", key)
        for key in (OWNER_KIND, OWNER_NAME, REFERENCE_KIND, REFERENCE_NAME, REFERENCE_NAMESPACE)
    ),
    signs=_SIGNS,
    claim=_claim,
    cel_claims=tuple(CelClaim(cel.has_values(sign), cel.value_of(sign)) for sign in _SIGNS),
    controllers=service_accounts("projectsveltos", "*"),
    kinds={"config.projectsveltos.io": ("ClusterProfile", "Profile")},
    drift=Drift(
        field_managers=frozenset({"addon-controller", "application/apply-patch"}),
        domains=frozenset({"projectsveltos.io"}),
    ),
)
