"""Flux: the owner labels that kustomize-controller and helm-controller put on what they apply.

The labels name the application only, so a copied one cannot be told from a true one.
"""

import json
from typing import Final

from glasswarden.kube.engines import cel
from glasswarden.kube.engines.engine import (
    CelClaim,
    ClusterReader,
    Controller,
    Detected,
    Drift,
    DriftedField,
    Engine,
    GetObject,
    GitLocation,
    Mark,
    Owner,
    Subject,
    service_accounts,
)
from glasswarden.kube.engines.helm import is_helm_hook
from glasswarden.kube.notation import json_pointer, kubectl, pointer_part
from glasswarden.kube.objects import Object, Ref, annotations_of, labels_of
from glasswarden.kube.paths import Key, path_of

NAME: Final = "flux"
TITLE: Final = "Flux"
NAMESPACE: Final = "flux-system"
KUSTOMIZATION: Final = "Kustomization"
HELM_RELEASE: Final = "HelmRelease"

_KUSTOMIZE_GROUP: Final = "kustomize.toolkit.fluxcd.io"
_HELM_GROUP: Final = "helm.toolkit.fluxcd.io"
_SOURCE_GROUP: Final = "source.toolkit.fluxcd.io"
_GROUPS: Final = {KUSTOMIZATION: _KUSTOMIZE_GROUP, HELM_RELEASE: _HELM_GROUP}

_PRUNE: Final = f"{_KUSTOMIZE_GROUP}/prune"
_RECONCILE: Final = f"{_KUSTOMIZE_GROUP}/reconcile"
_SSA: Final = f"{_KUSTOMIZE_GROUP}/ssa"

_MARKS: Final = tuple(
    (Mark("label", f"{group}/name"), Mark("label", f"{group}/namespace"), kind)
    for kind, group in _GROUPS.items()
)
_SOURCES: Final = {
    "GitRepository": "gitrepositories",
    "OCIRepository": "ocirepositories",
    "Bucket": "buckets",
}


def kustomization_labels(name: str, namespace: str) -> dict[str, str]:
    """Return the labels on what the Kustomization *name* in *namespace* applies."""
    return {f"{_KUSTOMIZE_GROUP}/name": name, f"{_KUSTOMIZE_GROUP}/namespace": namespace}


def _claim(subject: Subject) -> Owner | None:
    for first, second, kind in _MARKS:
        # Flux always sets both, and looks an object's owner up by both.
        name, namespace = subject.label(first.key), subject.label(second.key)
        if name and namespace:
            return Owner(NAME, name, namespace, kind)
    return None


def _git_location(owner: Owner, get: GetObject) -> GitLocation | None:
    if owner.kind != KUSTOMIZATION:
        return None
    home = owner.namespace or ""
    spec = get(f"{_KUSTOMIZE_GROUP}/v1", home, "kustomizations", owner.app)["spec"]
    reference = spec["sourceRef"]
    place = reference.get("namespace", home), _SOURCES[reference["kind"]], reference["name"]
    repository = get(f"{_SOURCE_GROUP}/v1", *place)["spec"]
    url = repository.get("url") or repository.get("endpoint", "")
    branch = repository.get("ref", {}).get("branch", "")
    return GitLocation(url, spec.get("path", "").removeprefix("./"), branch)


# -- how it is set up

_PART_OF: Final = "a Deployment of part-of=flux runs as this"
_TENANT: Final = "spec.serviceAccountName of a Kustomization or HelmRelease"


def _detect(cluster: ClusterReader) -> Detected | None:
    users = cluster.accounts("app.kubernetes.io/part-of=flux")
    if not users and cluster.groups().isdisjoint(ENGINE.kinds):
        return None
    return detect_settings(users, _tenants(cluster))


def detect_settings(users: tuple[str, ...], tenants: tuple[str, ...] = ()) -> Detected:
    """Return how Flux is set up: its controllers run as *users* and impersonate *tenants*."""
    own = tuple(Controller(each, _PART_OF) for each in users)
    return Detected(TITLE, controllers=own + tuple(Controller(each, _TENANT) for each in tenants))


def _tenants(cluster: ClusterReader) -> tuple[str, ...]:
    """Return the user names that Kustomizations and HelmReleases are reconciled as."""
    paths = {_KUSTOMIZE_GROUP: "v1/kustomizations", _HELM_GROUP: "v2/helmreleases"}
    found = [
        service_accounts(each["metadata"]["namespace"], account)[0]
        for group, path in paths.items()
        if group in cluster.groups()
        for each in cluster.each(f"/apis/{group}/{path}")
        if (account := each.get("spec", {}).get("serviceAccountName"))
    ]
    return tuple(sorted(set(found)))


# -- drift


def _is_hook(obj: Object, kind: str) -> bool:
    return kind == HELM_RELEASE and is_helm_hook(obj)


def _keeps(live: Object) -> str:
    keys = (_PRUNE, _RECONCILE)
    return next((f"{key}: disabled" for key in keys if _is_set(live, key, "disabled")), "")


def _leaves_alone(manifest: Object, kind: str) -> str:
    if kind not in ("", KUSTOMIZATION) or not _is_set(manifest, _SSA, "ifnotpresent"):
        return ""
    return "by `ssa: IfNotPresent` Flux makes it where there is none, and leaves it alone"


def _is_set(obj: Object, key: str, value: str) -> bool:
    # Flux takes a label for it too (`AnyInMetadata` in its ssa package).
    marks = (annotations_of(obj), labels_of(obj))
    return any(str(each.get(key, "")).lower() == value for each in marks)


def _ignore_rule(field: DriftedField) -> str:
    return _helm_ignore(field) if field.owner.kind == HELM_RELEASE else kustomize_rule(field)


def kustomize_rule(field: DriftedField) -> str:
    """Return what takes the field from Flux: a patch, or the merging apply for an addition."""
    ref, pointer = field.ref, json_pointer(field.path)
    if field.is_addition or pointer is None:
        return "\n".join(
            [f"# on {ref}, in Git", "metadata:", "  annotations:", f"    {_SSA}: Merge"]
        )
    return "\n".join(
        [
            "# spec of the Kustomization",
            "patches:",
            "- target:",
            *([f"    group: {ref.group}"] if ref.group else []),
            f"    kind: {ref.kind}",
            f"    name: {ref.name}",
            "  patch: |",
            "    - op: remove",
            f"      path: {pointer}",
        ]
    )


def _helm_ignore(field: DriftedField) -> str:
    """Return the entry for `spec.driftDetection.ignore` of the HelmRelease."""
    ref, pointer = field.ref, json_pointer(field.path)
    lines = ["# spec of the HelmRelease", "driftDetection:", "  ignore:", "  - paths:"]
    if pointer is None:
        # helm-controller knows items by their number only, which is in the live object.
        lines.insert(1, f"# N is the number of the item in {field.path}")
        pointer = "".join(
            f"/{pointer_part(step.name)}" if isinstance(step, Key) else "/N"
            for step in field.path.steps
        )
    return "\n".join(
        [
            *lines,
            f"    - {json.dumps(pointer)}",
            "    target:",
            f"      kind: {ref.kind}",
            f"      name: {ref.name}",
            *([f"      namespace: {ref.namespace}"] if ref.namespace else []),
        ]
    )


def _revert_command(field: DriftedField) -> str:
    owner = field.owner
    if owner.kind not in _GROUPS or not owner.app:
        return ""
    ref = Ref(_GROUPS[owner.kind], "", owner.kind, owner.namespace or "", owner.app)
    return f'{kubectl("annotate --overwrite", ref)} reconcile.fluxcd.io/requestedAt="$(date +%s)"'


ENGINE: Final = Engine(
    name=NAME,
    title=TITLE,
    marks=tuple(mark for name, namespace, _ in _MARKS for mark in (name, namespace)),
    signs=tuple(name for name, _, _ in _MARKS),
    claim=_claim,
    cel_claims=tuple(
        CelClaim(cel.has_values(name, namespace), cel.value_of(name), cel.value_of(namespace))
        for name, namespace, _ in _MARKS
    ),
    controllers=service_accounts(
        NAMESPACE,
        "flux-operator",
        "helm-controller",
        "image-automation-controller",
        "image-reflector-controller",
        "kustomize-controller",
        "notification-controller",
        "source-controller",
        "source-watcher",
    ),
    kinds={
        _KUSTOMIZE_GROUP: (KUSTOMIZATION,),
        _HELM_GROUP: (HELM_RELEASE,),
        _SOURCE_GROUP: (
            "Bucket",
            "ExternalArtifact",
            "GitRepository",
            "HelmChart",
            "HelmRepository",
            "OCIRepository",
        ),
        "source.extensions.fluxcd.io": ("ArtifactGenerator",),
        "fluxcd.controlplane.io": ("FluxInstance", "ResourceSet", "ResourceSetInputProvider"),
    },
    short_names={
        "Bucket": "",
        "GitRepository": "gitrepo gitrepositories",
        "HelmChart": "hc",
        HELM_RELEASE: "hr",
        "HelmRepository": "helmrepo helmrepositories",
        KUSTOMIZATION: "ks",
        "OCIRepository": "ocirepo ocirepositories",
    },
    switches=frozenset(
        {
            "fluxcd.controlplane.io/reconcile",
            f"{_HELM_GROUP}/driftDetection",
            _PRUNE,
            _RECONCILE,
            _SSA,
        }
    ),
    suspensions=(path_of("spec", "suspend"),),
    git_location=_git_location,
    detect=_detect,
    drift=Drift(
        field_managers=frozenset({"kustomize-controller", "helm-controller", "flux-operator"}),
        appliers={KUSTOMIZATION: "kustomize-controller", HELM_RELEASE: "helm-controller"},
        manager_prefixes=(
            "flux",
            "helm-controller",
            "image-automation-controller",
            "kustomize-controller",
            "source-controller",
        ),
        domains=frozenset({_HELM_GROUP, _KUSTOMIZE_GROUP}),
        sources=frozenset({"flux"}),
        is_hook=_is_hook,
        keeps=_keeps,
        leaves_alone=_leaves_alone,
        ignore_rule=_ignore_rule,
        revert_command=_revert_command,
    ),
)
