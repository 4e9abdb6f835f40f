"""The real reconcilers deploy from Git and undo what is changed by hand."""

import json
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tests.cluster.argocd import ArgoCD
from tests.cluster.controlplane import ControlPlane
from tests.cluster.flux import Flux
from tests.cluster.gitrepository import GitRepository
from tests.cluster.retries import eventually


class Deployed(Protocol):
    """What Flux and Argo CD have in common."""

    def wait_synced(self, revision: str) -> None: ...


def deployment(image: str) -> str:
    """Return a Deployment as YAML, of which JSON is a part; Flux overlooks files named .json."""
    labels = {"app": "web"}
    containers = [{"name": "web", "image": image}]
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        }
    )


def image_of(live: dict[str, Any]) -> str:
    return str(live["spec"]["template"]["spec"]["containers"][0]["image"])


def deploys_and_defends(
    deploying: AbstractContextManager[Deployed],
    repository: GitRepository,
    cluster: ControlPlane,
    namespace: str,
) -> dict[str, Any]:
    """Deploy, follow a second commit, undo a change by hand; return the live object at the end."""
    first = repository.commit({"shop/web.yaml": deployment("registry.example/web:1")}, "first")
    with deploying as deployed:
        deployed.wait_synced(first)
        second = repository.commit({"shop/web.yaml": deployment("registry.example/web:2")}, "next")
        deployed.wait_synced(second)

        by_hand = ("set", "image", "deployment/web", "web=registry.example/web:by-hand")
        cluster.as_("developer").kubectl(*by_hand, "-n", namespace)

        def reverted() -> bool:
            return image_of(cluster.get("deployment/web", "-n", namespace)).endswith("web:2")

        eventually(reverted, "the change by hand to be undone")
        live: dict[str, Any] = cluster.get("deployment/web", "-n", namespace)
        return live


def writers(cluster: ControlPlane, namespace: str) -> set[str]:
    """Return who wrote Deployments in *namespace*, according to the audit log."""
    return {
        event["user"]["username"]
        for event in cluster.audit_events()
        if event.get("objectRef", {}).get("resource") == "deployments"
        and event["objectRef"].get("namespace") == namespace
        and not event["objectRef"].get("subresource")
    }


def test_flux_deploys_and_undoes_a_change_by_hand(
    cluster: ControlPlane, flux: Flux, git_repository: GitRepository, namespace: str
) -> None:
    deploying = flux.deploy(git_repository, "shop", namespace)
    live = deploys_and_defends(deploying, git_repository, cluster, namespace)
    assert live["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] == namespace
    assert writers(cluster, namespace) >= {
        "developer",
        "system:serviceaccount:flux-system:kustomize-controller",
    }


def test_argocd_deploys_and_undoes_a_change_by_hand(
    cluster: ControlPlane, argocd: ArgoCD, git_repository: GitRepository, namespace: str
) -> None:
    deploying = argocd.deploy(git_repository, "shop", namespace)
    live = deploys_and_defends(deploying, git_repository, cluster, namespace)
    tracking = live["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"]
    assert tracking == f"{namespace}:apps/Deployment:{namespace}/web"
    assert writers(cluster, namespace) >= {
        "developer",
        "system:serviceaccount:argocd:argocd-application-controller",
    }
