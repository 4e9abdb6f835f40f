"""Kinds by the words that kubectl takes: `deploy`, `deployments`, `Deployment`."""

from typing import Final

_WORDS: Final = {
    "ClusterRole": "",
    "ClusterRoleBinding": "",
    "ConfigMap": "cm",
    "CronJob": "cj",
    "CustomResourceDefinition": "crd crds",
    "DaemonSet": "ds",
    "Deployment": "deploy",
    "HorizontalPodAutoscaler": "hpa",
    "Ingress": "ing ingresses",
    "Job": "",
    "Namespace": "ns",
    "NetworkPolicy": "netpol networkpolicies",
    "PersistentVolume": "pv",
    "PersistentVolumeClaim": "pvc",
    "Pod": "po",
    "PodDisruptionBudget": "pdb",
    "ReplicaSet": "rs",
    "Role": "",
    "RoleBinding": "",
    "Secret": "",
    "Service": "svc",
    "ServiceAccount": "sa",
    "StatefulSet": "sts",
    "StorageClass": "sc storageclasses",
    "Application": "app apps",
    "ApplicationSet": "appset appsets",
    "AppProject": "appproj",
    "Bucket": "",
    "GitRepository": "gitrepo gitrepositories",
    "HelmChart": "hc",
    "HelmRelease": "hr",
    "HelmRepository": "helmrepo helmrepositories",
    "Kustomization": "ks",
    "OCIRepository": "ocirepo ocirepositories",
}
"""Kubernetes' own kinds and the reconcilers', with short names and uncommon plurals."""

_KINDS: Final = {
    word: kind
    for kind, more in _WORDS.items()
    for word in (kind.lower(), f"{kind.lower()}s", *more.split())
}


class KindUnknown(ValueError):
    """A word that names no kind we know; a kind is always known as its manifest spells it."""


def kind_of(word: str) -> str:
    """Return the kind that *word* stands for; any word with a capital is taken for a kind."""
    known = _KINDS.get(word.partition(".")[0].lower())
    if known or word != word.lower():
        return known or word
    raise KindUnknown(
        f"{word!r} is no kind that is known here; spell it as in a manifest: Deployment"
    )
