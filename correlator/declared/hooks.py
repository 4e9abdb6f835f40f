"""Hooks: objects that an engine makes around a sync, and deletes as their policy says.

That one is absent, changed or still there is nobody's drift: it lives as long as it is to.
"""

from typing import Final

from glasswarden.kube.objects import Object, annotations_of
from glasswarden.kube.owners import Owner

_ARGOCD: Final = "argocd.argoproj.io/hook"
_HELM: Final = "helm.sh/hook"
_CRD_HOOKS: Final = frozenset({"crd-install"})


def is_hook(obj: Object, owner: Owner | None) -> bool:
    """Tell whether *owner*, or whoever it may be where it is not known, takes *obj* for a hook.

    Argo CD knows Helm's hooks too; other engines apply them like anything else.
    """
    if owner is None or owner.engine == "argocd":
        return _is_argocds(obj) or is_helm_hook(obj)
    return (owner.engine == "helm" or owner.kind == "HelmRelease") and is_helm_hook(obj)


def is_helm_hook(obj: Object) -> bool:
    """Tell whether Helm takes *obj* for a hook."""
    hooks = annotations_of(obj).get(_HELM)
    return isinstance(hooks, str) and bool(set(hooks.split(",")) - _CRD_HOOKS)


def _is_argocds(obj: Object) -> bool:
    return bool(annotations_of(obj).get(_ARGOCD))
