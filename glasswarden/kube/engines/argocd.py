"""Argo CD: the tracking annotation, or the instance label where the installation uses that.

Argo CD never marks CustomResourceDefinitions, so it cannot be seen as their owner.
"""

import json
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from glasswarden.kube.engines import cel, settings
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
    Setting,
    Subject,
    service_accounts,
)
from glasswarden.kube.engines.helm import is_helm_hook
from glasswarden.kube.notation import jq_path, json_pointer
from glasswarden.kube.objects import Object, Ref, annotations_of
from glasswarden.kube.paths import Path, path_of

NAME: Final = "argocd"
TITLE: Final = "Argo CD"
NAMESPACE: Final = "argocd"
APPLICATION: Final = "Application"

TRACKING_ID: Final = "argocd.argoproj.io/tracking-id"
INSTALLATION_ID: Final = "argocd.argoproj.io/installation-id"
INSTANCE_LABEL: Final = "app.kubernetes.io/instance"
SKIP_RECONCILE: Final = "argocd.argoproj.io/skip-reconcile"

_HOOK: Final = "argocd.argoproj.io/hook"
_SYNC_OPTIONS: Final = "argocd.argoproj.io/sync-options"
_KEEP: Final = frozenset({"Prune=false", "Prune=confirm", "Delete=false", "Delete=confirm"})
_TRACKING_PARTS: Final = 3

Tracking: TypeAlias = Literal["annotation", "label", "annotation+label"]


class ArgoCD(settings.Engine, frozen=True, kw_only=True):
    """Argo CD, with the settings of its `argocd-cm`."""

    tracking: Annotated[Tracking, Meta(description="`application.resourceTrackingMethod`.")] = (
        "annotation"
    )
    instance_label_key: Annotated[
        str, Meta(description="`application.instanceLabelKey`; read in `label` tracking.")
    ] = INSTANCE_LABEL
    installation_id: Annotated[
        str | None, Meta(description="`installationID`; none accepts every installation.")
    ] = msgspec.field(name="installationID", default=None)


def argocd(options: settings.Engine) -> Engine:
    """Return the engine for an installation with *options*."""
    if not isinstance(options, ArgoCD):
        raise TypeError(f"{TITLE} is configured with {ArgoCD.__name__}")
    if options.tracking == "label":
        return _by_label(options.instance_label_key)
    return _by_annotation(options.installation_id)


# -- whose object it is


@dataclass(frozen=True, slots=True)
class TrackingId:
    """A parsed ``<app>:<group>/<kind>:<namespace>/<name>``."""

    app: str
    group: str
    kind: str
    namespace: str
    name: str

    def refers_to(self, ref: Ref) -> bool:
        """Return whether the id was made for *ref* itself and not copied from another object.

        A cluster-scoped object carries the namespace that its application deploys to, so there the
        namespace says nothing (``isSelfReferencedObj`` in Argo CD).
        """
        return (self.group, self.kind, self.name) == (
            ref.group,
            ref.kind,
            ref.name,
        ) and ref.namespace in ("", self.namespace)


def parse_tracking_id(text: str) -> TrackingId | None:
    """Return the tracking id that *text* spells, or nothing when it is malformed."""
    parts = text.split(":", 2)
    if len(parts) != _TRACKING_PARTS:
        return None
    app, group_kind, namespace_name = parts
    if group_kind.count("/") != 1 or namespace_name.count("/") != 1:
        return None
    group, kind = group_kind.split("/")
    namespace, name = namespace_name.split("/")
    return TrackingId(app, group, kind, namespace, name) if app and kind and name else None


def _by_annotation(installation_id: str | None) -> Engine:
    # `annotation+label` reads the annotation too: its label is for people and other tools.
    tracking, installation = Mark("annotation", TRACKING_ID), Mark("annotation", INSTALLATION_ID)

    def claim(subject: Subject) -> Owner | None:
        tracking_id = parse_tracking_id(subject.annotation(TRACKING_ID))
        if tracking_id is None or not tracking_id.refers_to(subject.ref):
            return None
        if installation_id not in (None, subject.annotation(INSTALLATION_ID)):
            return None
        return _application(tracking_id.app)

    return replace(
        _BASE,
        marks=(tracking, installation),
        signs=(tracking,),
        claim=claim,
        cel_claims=(_cel_claim(tracking, installation_id),),
    )


def _by_label(key: str) -> Engine:
    # A label does not say which object it was made for: any chart that sets the key looks owned,
    # to Argo CD as well. Argo CD ignores the installation id in this method.
    mark = Mark("label", key)

    def claim(subject: Subject) -> Owner | None:
        instance = subject.label(key)
        return _application(instance) if instance else None

    cel_claim = CelClaim(cel.has_values(mark), *_cel_application(cel.value_of(mark)))
    return replace(_BASE, marks=(mark,), signs=(mark,), claim=claim, cel_claims=(cel_claim,))


def _application(instance: str) -> Owner:
    # Applications outside Argo CD's own namespace are written `<namespace>_<name>`; no Kubernetes
    # name contains an underscore.
    namespace, _, name = instance.rpartition("_")
    return Owner(NAME, name, namespace or None, APPLICATION)


def _cel_claim(tracking: Mark, installation_id: str | None) -> CelClaim:
    parts = f"{cel.value_of(tracking)}.split(':')"
    place = f"{parts}[2].split('/')"
    tests = [
        cel.has_values(tracking),
        f"{parts}.size() == 3 && {parts}[0] != ''",
        f"{parts}[1] == request.kind.group + '/' + request.kind.kind",
        f"{place}.size() == 2 && {place}[1] == {cel.NAME}",
        f"{cel.NAMESPACE} in ['', {place}[0]]",
    ]
    if installation_id is not None:
        installation = Mark("annotation", INSTALLATION_ID, installation_id)
        tests.append(cel.carries(cel.SUBJECT, installation))
    return CelClaim(cel.all_of(tests), *_cel_application(f"{parts}[0]"))


def _cel_application(instance: str) -> tuple[str, str]:
    """Return name and namespace of an Application that is written `<namespace>_<name>`."""
    at = f"{instance}.lastIndexOf('_')"
    name = f"{instance}.substring({at} + 1)"
    return name, f"({at} > 0 ? {instance}.substring(0, {at}) : '')"


# -- what steers it


def is_diverted(before: Object, after: Object) -> bool:
    """Return whether *after*, an Application, is asked for something else than *before* follows."""
    return diverts(before, after.get("operation"))


def diverts(application: Object, operation: object) -> bool:
    """Return whether *operation* would deploy something else than *application* follows.

    `argocd app sync` writes the Application's own source and the revision that Argo CD resolved
    anyway: that only hurries. Another revision, source or manifest is deployed just as well, past
    what the spec and Git say.
    """
    sync = _mapping(operation).get("sync")
    if not isinstance(sync, dict):
        return False
    spec = _mapping(application.get("spec"))
    revisions = {*_texts(sync.get("revision")), *_texts(sync.get("revisions"))}
    others = [
        sync[field] for field in ("source", "sources") if sync.get(field) not in (None, [], {})
    ]
    return (
        bool(sync.get("manifests"))
        or not revisions <= _followed_revisions_of(application)
        or any(each not in (spec.get("source"), spec.get("sources")) for each in others)
    )


def _followed_revisions_of(application: Object) -> set[str]:
    """Return the revisions that *application* names, and those that Argo CD made of them."""
    spec = _mapping(application.get("spec"))
    sources = [spec.get("source"), *_items(spec.get("sources"))]
    sync = _mapping(_mapping(application.get("status")).get("sync"))
    return {
        # Without a revision, Argo CD follows the newest of the default branch.
        *(
            "HEAD" if not each.get("targetRevision") else str(each["targetRevision"])
            for each in sources
            if isinstance(each, dict)
        ),
        *_texts(sync.get("revision")),
        *_texts(sync.get("revisions")),
    }


def _texts(value: object) -> set[str]:
    """Return the revisions in *value*, one or a list of them; nothing is none."""
    return {str(each) for each in (*_items(value), value) if each and not isinstance(each, list)}


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Object:
    return value if isinstance(value, dict) else {}


# -- where Git is named


def _git_location(owner: Owner, get: GetObject) -> GitLocation | None:
    if owner.kind != APPLICATION:
        return None
    place = owner.namespace or NAMESPACE
    spec = get("argoproj.io/v1alpha1", place, "applications", owner.app)["spec"]
    source: dict[str, Any] = spec.get("source") or spec["sources"][0]
    return GitLocation(source["repoURL"], source.get("path", ""), source.get("targetRevision", ""))


# -- how it is set up


@dataclass(frozen=True, slots=True)
class Installation:
    """One installation of Argo CD."""

    namespace: str
    tracking: str = "annotation"
    instance_label_key: str = ""
    installation_id: str = ""
    controllers: tuple[str, ...] = ()
    """User names that reconcile for it, those of sync impersonation included."""


def _detect(cluster: ClusterReader) -> Detected | None:
    return detect_settings(tuple(_installations(cluster)))


def detect_settings(installations: tuple[Installation, ...]) -> Detected | None:
    """Return how *installations* are set up, nothing where there are none."""
    if not installations:
        return None
    users = {user: each.namespace for each in installations for user in each.controllers}
    return Detected(
        f"{TITLE} in {', '.join(each.namespace for each in installations)}",
        tuple(_unusual_settings(*installations)),
        tuple(Controller(user, f"{TITLE} in {place}") for user, place in users.items()),
        _options(installations[0]),
    )


def _unusual_settings(first: Installation, *more: Installation) -> Iterator[Setting]:
    if first.tracking in ("label", "annotation+label"):
        reason = "application.resourceTrackingMethod of argocd-cm"
        yield Setting("tracking", first.tracking, reason)
    if first.instance_label_key:
        reason = "application.instanceLabelKey of argocd-cm"
        yield Setting("instanceLabelKey", first.instance_label_key, reason)
    if first.installation_id and not more:
        yield Setting("installationID", first.installation_id, "installationID of argocd-cm")


def _options(first: Installation) -> ArgoCD | None:
    if first.tracking != "label":
        return None
    return ArgoCD(tracking="label", instance_label_key=first.instance_label_key or INSTANCE_LABEL)


def _installations(cluster: ClusterReader) -> Iterator[Installation]:
    """Yield each installation, by its `argocd-cm`."""
    for config in cluster.each("/api/v1/configmaps?fieldSelector=metadata.name%3Dargocd-cm"):
        namespace = config["metadata"]["namespace"]
        data = config.get("data") or {}
        users = [
            account
            for name in ("argocd-application-controller", "argocd-applicationset-controller")
            for account in cluster.accounts(f"app.kubernetes.io/name={name}", namespace)
        ]
        users += _impersonated_accounts_of(cluster, namespace, data)
        yield Installation(
            namespace,
            data.get("application.resourceTrackingMethod", "annotation"),
            data.get("application.instanceLabelKey", ""),
            data.get("installationID", ""),
            tuple(dict.fromkeys(users)),
        )


def _impersonated_accounts_of(
    cluster: ClusterReader, namespace: str, data: dict[str, str]
) -> Iterable[str]:
    if data.get("application.sync.impersonation.enabled") != "true":
        return
    for project in cluster.each(f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/appprojects"):
        for each in project.get("spec", {}).get("destinationServiceAccounts") or ():
            # `namespace:name`, or a name in the namespace that is deployed to.
            place, _, name = each["defaultServiceAccount"].rpartition(":")
            yield from service_accounts(place or each.get("namespace") or "*", name)


# -- drift


def _is_hook(obj: Object, _kind: str) -> bool:
    # Argo CD knows Helm's hooks too.
    return bool(annotations_of(obj).get(_HOOK)) or is_helm_hook(obj)


def _keeps(live: Object) -> str:
    options = {each.strip() for each in str(annotations_of(live).get(_SYNC_OPTIONS, "")).split(",")}
    kept = sorted(options & _KEEP)
    return f"{_SYNC_OPTIONS}: {kept[0]}" if kept else ""


def _ignore_rule(field: DriftedField) -> str:
    return ignore_differences(field.ref, field.path)


def ignore_differences(ref: Ref, path: Path) -> str:
    """Return the entry for `spec.ignoreDifferences` of the Application."""
    lines = [
        "ignoreDifferences:",
        *([f"- group: {ref.group}"] if ref.group else ['- group: ""']),
        f"  kind: {ref.kind}",
        f"  name: {ref.name}",
        *([f"  namespace: {ref.namespace}"] if ref.namespace else []),
    ]
    pointer = json_pointer(path)
    if pointer is not None:
        return "\n".join([*lines, "  jsonPointers:", f"  - {json.dumps(pointer)}"])
    return "\n".join([*lines, "  jqPathExpressions:", f"  - {json.dumps(jq_path(path))}"])


def _revert_command(field: DriftedField) -> str:
    if field.is_addition:
        return ""  # a sync leaves alone what Git does not declare
    ref, owner = field.ref, field.owner
    place = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
    app = f"{owner.namespace}/{owner.app}" if owner.namespace else owner.app
    resource = f"{ref.group}:{ref.kind}:{place}"
    return shlex.join(["argocd", "app", "sync", app, "--resource", resource])


_BASE: Final = Engine(
    name=NAME,
    title=TITLE,
    marks=(),
    signs=(),
    claim=lambda _subject: None,
    # Not argocd-server: it reconciles nothing. What it writes is a person's edit in the web UI.
    controllers=(
        *service_accounts(
            NAMESPACE, "argocd-application-controller", "argocd-applicationset-controller"
        ),
        *service_accounts("kube-system", "argocd-manager"),
    ),
    kinds={"argoproj.io": (APPLICATION, "ApplicationSet", "AppProject")},
    short_names={
        APPLICATION: "app apps",
        "ApplicationSet": "appset appsets",
        "AppProject": "appproj",
    },
    switches=frozenset({"argocd.argoproj.io/compare-options", SKIP_RECONCILE, _SYNC_OPTIONS}),
    suspensions=(path_of("metadata", "annotations", SKIP_RECONCILE),),
    diverts=is_diverted,
    options=ArgoCD,
    configure=argocd,
    git_location=_git_location,
    home_namespace=NAMESPACE,
    detect=_detect,
    drift=Drift(
        field_managers=frozenset({"argocd-controller", "argocd-application-controller"}),
        appliers={APPLICATION: "argocd-controller"},
        manager_prefixes=("argocd",),
        # The web UI; `argocd` where its program is called so.
        people=frozenset({"argocd", "argocd-server"}),
        domains=frozenset({"argocd.argoproj.io"}),
        keys=frozenset({INSTANCE_LABEL}),
        sources=frozenset({"argocd", "argocd-api"}),
        is_hook=_is_hook,
        keeps=_keeps,
        ignore_rule=_ignore_rule,
        ignores_declared_fields=True,
        revert_command=_revert_command,
    ),
)
"""What does not depend on the settings."""

ENGINE: Final = argocd(ArgoCD())
