"""kapp: the application label, checked against the identity annotation.

The label holds the application's generated id, not its name: that is all an object tells.
"""

from typing import Final

from glasswarden.kube.engines.engine import (
    Drift,
    Engine,
    Mark,
    Owner,
    Subject,
    first_annotation,
    service_accounts,
)
from glasswarden.kube.objects import Object, Ref

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


def _keeps(live: Object) -> str:
    return first_annotation(live, ("kapp.k14s.io/delete-strategy", "orphan"))


ENGINE: Final = Engine(
    name=NAME,
    title="kapp",
    marks=(Mark("label", APP), Mark("label", ASSOCIATION), Mark("annotation", IDENTITY)),
    signs=(Mark("label", APP),),
    claim=_claim,
    controllers=service_accounts("kapp-controller", "kapp-controller-sa"),
    kinds={
        "kappctrl.k14s.io": ("App",),
        "packaging.carvel.dev": ("PackageInstall", "PackageRepository"),
    },
    drift=Drift(
        field_managers=frozenset({"kapp", "kapp-server-side-apply", "kapp-controller"}),
        manager_prefixes=("kapp",),
        domains=frozenset({"kapp.k14s.io"}),
        keeps=_keeps,
    ),
)
