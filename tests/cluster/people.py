"""The people of the test cluster, and what RBAC lets them do.

RBAC lets all of them write to nearly everything: where a test sees one of them refused, it was
Glasswarden that refused.
"""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a client certificate: its common name and its organizations."""

    name: str
    groups: tuple[str, ...]


RBAC_GROUP: Final = "rbac.authorization.k8s.io"

ADMIN: Final = Person("admin", ("system:masters",))

PEOPLE: Final = {
    person.name: person
    for person in (
        ADMIN,
        Person("responder", ("oncall", "developers")),
        Person("developer", ("developers",)),
        Person("lead", ("leads", "developers")),
        Person("outsider", ("contractors",)),
    )
}

WRITERS: Final = ("oncall", "developers", "leads", "contractors")


def rbac() -> list[dict[str, Any]]:
    """Return the roles and bindings that every control plane starts with."""
    return [
        {
            "apiVersion": f"{RBAC_GROUP}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "people"},
            "rules": [
                {"apiGroups": [group], "resources": ["*"], "verbs": ["*"]}
                for group in (
                    "",
                    "apps",
                    "argoproj.io",
                    "autoscaling",
                    "batch",
                    "kustomize.toolkit.fluxcd.io",
                    "networking.k8s.io",
                    "policy",
                    "source.toolkit.fluxcd.io",
                )
            ],
        },
        # What `edit` aggregates follows the API: custom resources opt in by a label.
        *(binding(f"people-{role}", role, groups(*WRITERS)) for role in ("people", "edit")),
    ]


def service_account(namespace: str, name: str, cluster_role: str | None) -> list[dict[str, Any]]:
    """Return a service account, its namespace and its binding to *cluster_role*."""
    subject = {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"namespace": namespace, "name": name},
    }
    manifests = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        account,
    ]
    if cluster_role is None:
        return manifests
    return [*manifests, binding(f"{namespace}-{name}-{cluster_role}", cluster_role, [subject])]


def binding(name: str, role: str, subjects: list[dict[str, str]]) -> dict[str, Any]:
    """Return a ClusterRoleBinding of *role* to *subjects*."""
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role},
        "subjects": subjects,
    }


def groups(*names: str) -> list[dict[str, str]]:
    return [{"apiGroup": RBAC_GROUP, "kind": "Group", "name": name} for name in names]
