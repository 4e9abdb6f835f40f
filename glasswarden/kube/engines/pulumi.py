"""Pulumi: one label, which names neither the stack nor the project.

Opt-in: the label says that Pulumi made the object, not that anything keeps it so.
"""

from typing import Final

from glasswarden.kube.engines.engine import Engine, Mark, Owner, Subject

NAME: Final = "pulumi"
MANAGED_BY: Final = Mark("label", "app.kubernetes.io/managed-by", "pulumi")


def _claim(subject: Subject) -> Owner | None:
    return Owner(NAME, "", None) if subject.read(MANAGED_BY) == MANAGED_BY.value else None


ENGINE: Final = Engine(NAME, marks=(MANAGED_BY,), signs=(MANAGED_BY,), claim=_claim)
