"""The party that holds a field, by the name of its field manager.

A writer chooses its manager's name, so this classifies what is seen; it proves nothing.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import ENGINES, drift_of
from glasswarden.kube.managed_fields import Entry
from glasswarden.policy.policy import Policy

_DEPLOYERS: Final = frozenset(
    {"kubectl-client-side-apply", "kubectl-create", "kubectl-replace", "before-first-apply"}
).union(*(engine.drift.field_managers for engine in ENGINES if not engine.controllers))
"""Where no engine owns an object: the names under which it is deployed as a whole.

An engine without a controller deploys from a command line.
"""

_KUBERNETES: Final = frozenset(
    {
        "cloud-controller-manager", "kube-aggregator", "kube-apiserver", "kube-controller-manager",
        "kube-scheduler", "kubelet",
    }
)  # fmt: skip

_PEOPLE: Final = frozenset(
    {
        "headlamp", "k9s", "kubectl", "kustomize", "lens", "node-fetch", "oc", "openlens",
        "rancher", "terraform", "HashiCorp",
    }
).union(*(engine.drift.people for engine in ENGINES))  # fmt: skip
"""Programs that a person runs; `node-fetch` is what Lens and others call themselves."""


class Party(Enum):
    """Who holds a field."""

    OWNER = auto()
    KUBERNETES = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Managers:
    """The field managers of one object, sorted."""

    appliers: frozenset[str] | None
    """The names of the object's owner; none where nobody owns it."""

    def party_of(self, entry: Entry) -> Party:
        """Return who wrote the fields of *entry*."""
        if entry.subresource == "status" or entry.manager in _KUBERNETES:
            return Party.KUBERNETES
        if self.appliers is not None:
            return Party.OWNER if entry.manager in self.appliers else Party.OTHER
        is_deployer = entry.operation == "Apply" or entry.manager in _DEPLOYERS
        return Party.OWNER if is_deployer else Party.OTHER

    def applies(self, manager: str) -> bool:
        """Return whether *manager*, by its name alone, deploys the object as a whole."""
        return manager in (_DEPLOYERS if self.appliers is None else self.appliers)


def managers_for(owner: Owner | None, policy: Policy) -> Managers:
    """Return how the managers of *owner*'s objects are sorted."""
    if owner is None:
        return Managers(None)
    controllers = policy.controllers.get(owner.engine)
    accounts = controllers.exact if controllers is not None else frozenset[str]()
    # A program that names no manager is known by its own name, and so is its account, mostly.
    named = frozenset(account.rpartition(":")[2] for account in accounts)
    return Managers(drift_of(owner.engine).field_managers | named)


def appliers_for(owner: Owner | None, policy: Policy) -> frozenset[str]:
    """Return the field managers of *owner*, which a grant forces to keep held fields."""
    return managers_for(owner, policy).appliers or frozenset()


def may_write(entry: Entry) -> bool:
    """Return whether *entry* is of somebody who may write what Git declares, unlike Kubernetes."""
    return Managers(None).party_of(entry) is not Party.KUBERNETES


def applier_of(owner: Owner | None) -> str:
    """Return the name under which *owner*'s engine usually applies; empty where it is not known."""
    return drift_of(owner.engine).appliers.get(owner.kind, "") if owner else ""


def is_person(manager: str) -> bool:
    """Return whether *manager* is a program that a person runs."""
    return manager.startswith("kubectl-") or manager in _PEOPLE


def is_kubernetes(manager: str) -> bool:
    """Return whether *manager* is a part of Kubernetes."""
    return manager in _KUBERNETES
