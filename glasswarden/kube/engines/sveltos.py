"""Sveltos: annotations naming the profile that deployed an object and the source it came from."""

from typing import Final

from glasswarden.kube.engines.engine import Engine, Mark, Owner, Subject

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


ENGINE: Final = Engine(
    NAME,
    marks=tuple(
        Mark("annotation", key)
        for key in (OWNER_KIND, OWNER_NAME, REFERENCE_KIND, REFERENCE_NAME, REFERENCE_NAMESPACE)
    ),
    signs=(Mark("annotation", OWNER_NAME), Mark("annotation", REFERENCE_NAME)),
    claim=_claim,
)
