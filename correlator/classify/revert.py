"""The command that has the owner put a field back, ready to paste."""

import shlex
from typing import Final

from correlator.classify.words import kubectl
from correlator.finding import Finding
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Ref
from glasswarden.kube.owners import Owner

_FLUX: Final = {
    "Kustomization": "kustomize.toolkit.fluxcd.io",
    "HelmRelease": "helm.toolkit.fluxcd.io",
}


def revert_command(finding: Finding) -> str:
    """Return what makes *finding* go away, as far as it is known how."""
    owner, ref = finding.owner, finding.ref
    if owner is None:
        return ""
    if owner.engine == "flux" and owner.kind in _FLUX and owner.app:
        return _flux(owner)
    if owner.engine == "argocd" and finding.declared is not ABSENT:
        return _argocd(owner, ref)
    # Other engines, and Argo CD for what was added, leave alone what Git does not mention.
    return f"{kubectl('edit', ref)}  # {finding.field}" if finding.declared is ABSENT else ""


def _flux(owner: Owner) -> str:
    ref = Ref(_FLUX[owner.kind], "", owner.kind, owner.namespace or "", owner.app)
    return f'{kubectl("annotate --overwrite", ref)} reconcile.fluxcd.io/requestedAt="$(date +%s)"'


def _argocd(owner: Owner, ref: Ref) -> str:
    place = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
    app = f"{owner.namespace}/{owner.app}" if owner.namespace else owner.app
    resource = f"{ref.group}:{ref.kind}:{place}"
    return shlex.join(["argocd", "app", "sync", app, "--resource", resource])
