"""Pulumi: one label, which names neither the stack nor the project.

Opt-in: the label says that Pulumi made the object, not that anything keeps it so.
"""

from typing import Final

from glasswarden.kube.engines import cel, settings
from glasswarden.kube.engines.engine import (
    CelClaim,
    Drift,
    Engine,
    Mark,
    Owner,
    Subject,
    service_accounts,
)

NAME: Final = "pulumi"
MANAGED_BY: Final = Mark("label", "app.kubernetes.io/managed-by", "pulumi")


def _claim(subject: Subject) -> Owner | None:
    return Owner(NAME, "", None) if subject.read(MANAGED_BY) == MANAGED_BY.value else None


ENGINE: Final = Engine(
    name=NAME,
    title="Pulumi",
    marks=(MANAGED_BY,),
    signs=(MANAGED_BY,),
    claim=_claim,
    cel_claims=(CelClaim(cel.has_values(MANAGED_BY)),),
    controllers=service_accounts("pulumi-kubernetes-operator", "*"),
    kinds={"pulumi.com": ("Stack",)},
    options=settings.OptionalEngine,
    drift=Drift(
        field_managers=frozenset({"pulumi", "pulumi-kubernetes"}),
        domains=frozenset({"pulumi.com"}),
        keys=frozenset({MANAGED_BY.key}),
    ),
)
