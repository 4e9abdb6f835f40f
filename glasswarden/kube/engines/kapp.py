"""kapp: the application label, checked against the identity annotation.

The label holds the application's generated id, not its name: that is all an object tells.
"""

from typing import Final

from glasswarden.kube.engines.engine import Engine, Mark, Owner, Subject
from glasswarden.kube.objects import Ref

NAME: Final = "kapp"
APP: Final = "kapp.k14s.io/app"
ASSOCIATION: Final = "kapp.k14s.io/association"
IDENTITY: Final = "kapp.k14s.io/identity"


def _claim(subject: Subject) -> Owner | None:
    app, identity = subject.label(APP), subject.annotation(IDENTITY)
    if not app or (identity and not _is_own(identity, subject.ref)):
        return None
    return Owner(NAME, app, None, "App")


def _is_own(identity: str, ref: Ref) -> bool:
    # `v1;<namespace>/<group>/<kind>/<name>;<apiVersion>` (`IdentityAnnotation.Valid` in kapp); the
    # version may lag behind the one that this object was read in.
    own = f"v1;{ref.namespace}/{ref.group}/{ref.kind}/{ref.name};"
    return identity.startswith(own) and identity.count(";") == own.count(";")


ENGINE: Final = Engine(
    NAME,
    marks=(Mark("label", APP), Mark("label", ASSOCIATION), Mark("annotation", IDENTITY)),
    signs=(Mark("label", APP),),
    claim=_claim,
)
