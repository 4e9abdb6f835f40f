"""Looking at a cluster: which engines there are, how they are set up, and who else writes.

Only reads, and no Secret among them. What may not be read is noted and left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from glasswarden.cluster.objects import ClusterError, Object, ObjectMissing, Objects
from glasswarden.kube.engines.argocd import ArgoCDSettings, argocd
from glasswarden.kube.engines.engine import Engine
from glasswarden.kube.engines.registry import DEFAULT_ENGINES, RECONCILERS, owner_of
from glasswarden.kube.managed_fields import entries_of, owned_paths_of

PAGE: Final = 500
MOST_FIELDS: Final = 8

WORKLOADS: Final = (
    ("apps/v1", "deployments", "Deployment"),
    ("apps/v1", "statefulsets", "StatefulSet"),
    ("apps/v1", "daemonsets", "DaemonSet"),
    ("v1", "services", "Service"),
    ("v1", "configmaps", "ConfigMap"),
    ("networking.k8s.io/v1", "ingresses", "Ingress"),
)
"""What is looked through for marks and for field managers."""

ENGINES_OWN: Final = (
    "argocd",
    "configsync",
    "fleet",
    "flux",
    "helm",
    "image-automation-controller",
    "kapp",
    "kustomize-controller",
    "source-controller",
)
"""How the field managers of engines begin."""

KUBERNETES_OWN: Final = ("kube-", "kubelet", "before-first-apply", "ancient-changes")
PEOPLES: Final = ("kubectl", "k9s", "lens", "Mozilla", "Helm", "rancher", "node-fetch")
"""How the field managers of people's tools begin."""


@dataclass(frozen=True, slots=True)
class ArgoCDFound:
    """One installation of Argo CD."""

    namespace: str
    tracking: str = "annotation"
    instance_label_key: str = ""
    installation_id: str = ""
    controllers: tuple[str, ...] = ()
    """User names that reconcile for it, those of sync impersonation included."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A field manager on managed objects that belongs to no engine, tool or part of Kubernetes."""

    name: str
    objects: int
    fields: tuple[str, ...]
    """Some of the fields that it owns."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found."""

    argocd: tuple[ArgoCDFound, ...] = ()
    flux: tuple[str, ...] = ()
    """User names of Flux's controllers."""
    tenants: tuple[str, ...] = ()
    """User names that Kustomizations and HelmReleases are reconciled as."""
    engines: tuple[str, ...] = ()
    """Engines whose own kinds the API server knows."""
    managed: dict[str, int] = field(default_factory=dict)
    """Marked objects among the workloads, by engine."""
    autoscalers: int = 0
    cert_managers: tuple[str, ...] = ()
    """User names of cert-manager's cainjector."""
    kedas: tuple[str, ...] = ()
    strangers: tuple[Stranger, ...] = ()
    by_people: int = 0
    """Marked objects on which a person's tool owns a field."""
    unread: tuple[str, ...] = ()
    """What could not be looked at, with the reason."""


def survey(objects: Objects) -> Survey:
    """Return what *objects*' cluster has in it."""
    look = _Look(objects)
    groups = look.groups()
    found = tuple(look.argocd())
    engines = [engine for engine, kinds in RECONCILERS.items() if groups & kinds.keys()]
    seen = look.workloads(found)
    return Survey(
        argocd=found,
        flux=look.accounts("app.kubernetes.io/part-of=flux"),
        tenants=tuple(look.tenants(groups)),
        engines=tuple(engines),
        managed=dict(seen.marked),
        autoscalers=sum(1 for _ in look.each("/apis/autoscaling/v2/horizontalpodautoscalers")),
        cert_managers=look.accounts("app.kubernetes.io/name=cainjector"),
        kedas=look.accounts("app.kubernetes.io/name=keda-operator"),
        strangers=seen.strangers(),
        by_people=seen.by_people,
        unread=tuple(look.unread),
    )


class _Look:
    """One look at a cluster, which remembers what it could not see."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.unread: list[str] = []

    def each(self, path: str) -> Iterator[Object]:
        """Yield the objects at *path*, page by page; none where there is no such kind."""
        token, separator = "", "&" if "?" in path else "?"
        while True:
            try:
                page = self._objects.get(f"{path}{separator}limit={PAGE}&continue={token}")
            except ObjectMissing:
                return
            except ClusterError as error:
                self.unread.append(str(error))
                return
            yield from page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                return

    def groups(self) -> set[str]:
        """Return the API groups that the server knows."""
        return {group["name"] for group in self._objects.get("/apis")["groups"]}

    def argocd(self) -> Iterator[ArgoCDFound]:
        """Yield each installation, by its `argocd-cm`."""
        for settings in self.each("/api/v1/configmaps?fieldSelector=metadata.name%3Dargocd-cm"):
            namespace = settings["metadata"]["namespace"]
            data = settings.get("data") or {}
            controllers = [
                account
                for name in ("argocd-application-controller", "argocd-applicationset-controller")
                for account in self.accounts(f"app.kubernetes.io/name={name}", namespace)
            ]
            controllers += self._impersonated(namespace, data)
            yield ArgoCDFound(
                namespace,
                data.get("application.resourceTrackingMethod", "annotation"),
                data.get("application.instanceLabelKey", ""),
                data.get("installationID", ""),
                tuple(dict.fromkeys(controllers)),
            )

    def _impersonated(self, namespace: str, settings: dict[str, str]) -> Iterator[str]:
        if settings.get("application.sync.impersonation.enabled") != "true":
            return
        root = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/appprojects"
        for project in self.each(root):
            for each in project.get("spec", {}).get("destinationServiceAccounts") or ():
                account = each["defaultServiceAccount"]
                # `namespace:name`, or a name in the namespace that is deployed to.
                place, _, name = account.rpartition(":")
                yield user_of(place or each.get("namespace") or "*", name)

    def accounts(self, label: str, namespace: str = "") -> tuple[str, ...]:
        """Return the user names under which the programs with *label* run."""
        within = f"/namespaces/{namespace}" if namespace else ""
        selector = f"?labelSelector={label.replace('=', '%3D').replace('/', '%2F')}"
        found = [
            user_of(each["metadata"]["namespace"], account)
            for resource in ("deployments", "statefulsets")
            for each in self.each(f"/apis/apps/v1{within}/{resource}{selector}")
            if (account := each["spec"]["template"]["spec"].get("serviceAccountName"))
        ]
        return tuple(dict.fromkeys(found))

    def tenants(self, groups: set[str]) -> list[str]:
        """Return whom Flux impersonates."""
        paths = {
            "kustomize.toolkit.fluxcd.io": "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations",
            "helm.toolkit.fluxcd.io": "/apis/helm.toolkit.fluxcd.io/v2/helmreleases",
        }
        found = [
            user_of(each["metadata"]["namespace"], account)
            for group, path in paths.items()
            if group in groups
            for each in self.each(path)
            if (account := each.get("spec", {}).get("serviceAccountName"))
        ]
        return sorted(set(found))

    def workloads(self, installations: tuple[ArgoCDFound, ...]) -> "_Seen":
        """Return what managed objects tell about who writes to them."""
        engines = tuple(_as_set_up(engine, installations) for engine in DEFAULT_ENGINES)
        seen = _Seen()
        for version, resource, kind in WORKLOADS:
            root = "/api/v1" if version == "v1" else f"/apis/{version}"
            for each in self.each(f"{root}/{resource}"):
                # Items of a list do not say what they are.
                owner = owner_of(each | {"apiVersion": version, "kind": kind}, engines)
                if owner is not None:
                    seen.take(owner.engine, _managers(each))
        return seen


@dataclass(slots=True)
class _Seen:
    """Managed objects, counted."""

    marked: Counter[str] = field(default_factory=Counter)
    by_people: int = 0
    _objects: Counter[str] = field(default_factory=Counter)
    _fields: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def take(self, engine: str, managers: dict[str, set[str]]) -> None:
        """Count an object of *engine*, with the fields that each of its *managers* owns."""
        self.marked[engine] += 1
        self.by_people += any(name.startswith(PEOPLES) for name in managers)
        for name, fields in managers.items():
            if not name.startswith((*PEOPLES, *ENGINES_OWN, *KUBERNETES_OWN)):
                self._objects[name] += 1
                self._fields[name] |= fields

    def strangers(self) -> tuple[Stranger, ...]:
        """Return the managers that nobody knows, the busiest first."""
        return tuple(
            Stranger(name, count, tuple(sorted(self._fields[name])[:MOST_FIELDS]))
            for name, count in self._objects.most_common()
        )


def _as_set_up(engine: Engine, installations: tuple[ArgoCDFound, ...]) -> Engine:
    """Return *engine*; Argo CD as its first installation is set up."""
    if engine.name != "argocd" or not installations:
        return engine
    first = installations[0]
    if first.tracking != "label":
        return engine
    key = first.instance_label_key or ArgoCDSettings().instance_label_key
    return argocd(ArgoCDSettings("label", key))


def _managers(obj: Object) -> dict[str, set[str]]:
    """Return the fields of each manager of *obj*, what reports its status left out."""
    found: dict[str, set[str]] = {}
    for entry in entries_of(obj):
        paths = {str(path) for path in owned_paths_of(entry.fields)}
        paths = {path for path in paths if not path.startswith(("/status", "/metadata/managed"))}
        if paths:
            found.setdefault(entry.manager, set()).update(paths)
    return found


def user_of(namespace: str, account: str) -> str:
    """Return the user name of a service account."""
    return f"system:serviceaccount:{namespace}:{account}"
