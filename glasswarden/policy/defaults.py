"""What serves with no policy at all: the usual reconcilers, the usual owners of single fields."""

from collections.abc import Mapping
from typing import Final

from glasswarden.policy.document import Delegation
from glasswarden.policy.write import Operation

_ANY_FIELD: Final = ("/**",)
_ANY_OPERATION: Final = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)


def _accounts(namespace: str, *names: str) -> tuple[str, ...]:
    return tuple(f"system:serviceaccount:{namespace}:{name}" for name in names)


CONTROLLERS: Final[Mapping[str, tuple[str, ...]]] = {
    # Not argocd-server: it reconciles nothing. What it writes is a person's edit in the web UI.
    "argocd": (
        *_accounts("argocd", "argocd-application-controller", "argocd-applicationset-controller"),
        *_accounts("kube-system", "argocd-manager"),
    ),
    "flux": _accounts(
        "flux-system",
        "flux-operator",
        "helm-controller",
        "image-automation-controller",
        "image-reflector-controller",
        "kustomize-controller",
        "notification-controller",
        "source-controller",
        "source-watcher",
    ),
    "configsync": (
        *_accounts("config-management-system", "*"),
        *_accounts("resource-group-system", "*"),
    ),
    "fleet": (*_accounts("cattle-fleet-system", "*"), *_accounts("cattle-fleet-local-system", "*")),
    "kapp": _accounts("kapp-controller", "kapp-controller-sa"),
    "sveltos": _accounts("projectsveltos", "*"),
    "helm": (),
    "pulumi": (*_accounts("pulumi-kubernetes-operator", "*"),),
}
"""Per engine, the users that reconcile for it."""

# With --use-service-account-credentials each of Kubernetes' controllers has a name of its own
# in kube-system; without, they share one user.
KUBERNETES: Final = Delegation(
    name="kubernetes",
    actors=(
        "system:apiserver",
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "system:node:*",
        *_accounts(
            "kube-system",
            "*-cleaner",
            "*-controller",
            "*-garbage-collector",
            "*-publisher",
            "bootstrap-signer",
            "persistent-volume-binder",
        ),
    ),
    operations=_ANY_OPERATION,
    fields=_ANY_FIELD,
)
"""Kubernetes itself: the API server does not even ask about it."""

DELEGATIONS: Final = (
    Delegation(
        name="horizontal-pod-autoscaler",
        actors=_accounts("kube-system", "horizontal-pod-autoscaler"),
        fields=("/spec/replicas",),
    ),
    Delegation(
        name="keda",
        actors=_accounts("keda", "keda-operator"),
        fields=("/spec/replicas",),
    ),
    Delegation(
        name="vertical-pod-autoscaler",
        actors=_accounts("kube-system", "vpa-*"),
        fields=(
            "/spec/template/spec/containers[*]/resources/**",
            "/spec/containers[*]/resources/**",
        ),
    ),
    Delegation(
        name="cert-manager",
        actors=_accounts("cert-manager", "cert-manager-cainjector"),
        fields=(
            "/webhooks[*]/clientConfig/caBundle",
            "/spec/conversion/webhook/clientConfig/caBundle",
            "/spec/caBundle",
        ),
    ),
    Delegation(
        name="glasswarden",
        actors=_accounts("glasswarden", "glasswarden-certs"),
        fields=("/webhooks[*]/clientConfig/caBundle",),
    ),
    KUBERNETES,
)
"""Who owns single fields in most clusters."""
