"""The survey of a cluster: which engines it has, how they are set up, and who else writes.

How an engine is found is the engine's own to know. A survey only reads, and reads no Secret; what
it may not read is noted and left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from glasswarden.cluster.client import ApiServer, ApiServerError, NotFound
from glasswarden.kube.engines.engine import ClusterReader, Detected, Engine, service_accounts
from glasswarden.kube.engines.registry import DEFAULT_ENGINES, ENGINES, owner_of
from glasswarden.kube.managed_fields import entries_of, owned_paths_of
from glasswarden.kube.objects import Object

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
"""What is searched for marks and for field managers."""

ENGINES_OWN: Final = tuple(
    dict.fromkeys(
        name
        for engine in ENGINES
        for name in (*engine.drift.manager_prefixes, *sorted(engine.drift.field_managers))
    )
)
"""How the field managers of engines begin."""

KUBERNETES_OWN: Final = ("kube-", "kubelet", "before-first-apply", "ancient-changes")
PEOPLES: Final = ("kubectl", "k9s", "lens", "Mozilla", "Helm", "rancher", "node-fetch")
"""How the field managers of people's tools begin."""


@dataclass(frozen=True, slots=True)
class UnknownManager:
    """A field manager on managed objects that belongs to no engine, tool or part of Kubernetes."""

    name: str
    objects: int
    fields: tuple[str, ...]
    """Some of the fields that it owns."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found."""

    detected: Mapping[str, Detected] = field(default_factory=dict)
    """How engines are set up, by name, where that can be found out."""
    engines: tuple[str, ...] = ()
    """Engines whose own kinds the API server knows."""
    managed: dict[str, int] = field(default_factory=dict)
    """Marked objects among the workloads, by engine."""
    autoscalers: int = 0
    cert_managers: tuple[str, ...] = ()
    """User names of cert-manager's cainjector."""
    kedas: tuple[str, ...] = ()
    unknown_managers: tuple[UnknownManager, ...] = ()
    by_people: int = 0
    """Marked objects on which a person's tool owns a field."""
    unread: tuple[str, ...] = ()
    """What could not be read, with the reason."""


def survey(server: ApiServer) -> Survey:
    """Return what *server*'s cluster has in it."""
    reader = _Reader(server)
    groups = reader.groups()
    detected = dict(_detect_engines(reader))
    seen = reader.workloads(detected)
    return Survey(
        detected=detected,
        engines=tuple(each.name for each in ENGINES if not groups.isdisjoint(each.kinds)),
        managed=dict(seen.marked),
        autoscalers=sum(1 for _ in reader.each("/apis/autoscaling/v2/horizontalpodautoscalers")),
        cert_managers=reader.accounts("app.kubernetes.io/name=cainjector"),
        kedas=reader.accounts("app.kubernetes.io/name=keda-operator"),
        unknown_managers=seen.unknown_managers(),
        by_people=seen.by_people,
        unread=tuple(reader.unread),
    )


def _detect_engines(reader: ClusterReader) -> Iterator[tuple[str, Detected]]:
    for engine in ENGINES:
        if engine.detect is not None and (found := engine.detect(reader)) is not None:
            yield engine.name, found


class _Reader:
    """Reads a cluster once, and remembers what it could not read."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._groups: frozenset[str] | None = None
        self.unread: list[str] = []

    def each(self, path: str) -> Iterator[Object]:
        """Yield the objects at *path*, page by page; none where there is no such kind."""
        token, separator = "", "&" if "?" in path else "?"
        while True:
            try:
                page = self._server.get(f"{path}{separator}limit={PAGE}&continue={token}")
            except NotFound:
                return
            except ApiServerError as error:
                self.unread.append(str(error))
                return
            yield from page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                return

    def groups(self) -> frozenset[str]:
        """Return the API groups that the server knows."""
        if self._groups is None:
            served = self._server.get("/apis")["groups"]
            self._groups = frozenset(group["name"] for group in served)
        return self._groups

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

    def workloads(self, detected: Mapping[str, Detected]) -> "_Seen":
        """Return which writers managed objects name."""
        engines = tuple(_as_set_up(engine, detected.get(engine.name)) for engine in DEFAULT_ENGINES)
        seen = _Seen()
        for version, resource, kind in WORKLOADS:
            root = "/api/v1" if version == "v1" else f"/apis/{version}"
            for each in self.each(f"{root}/{resource}"):
                # Items of a list do not have their kind.
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

    def unknown_managers(self) -> tuple[UnknownManager, ...]:
        """Return the managers that nobody knows, the busiest first."""
        return tuple(
            UnknownManager(name, count, tuple(sorted(self._fields[name])[:MOST_FIELDS]))
            for name, count in self._objects.most_common()
        )


def _as_set_up(engine: Engine, detected: Detected | None) -> Engine:
    """Return *engine* as it is set up in the cluster."""
    if detected is None or detected.options is None:
        return engine
    return engine.with_options(detected.options)


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
    return service_accounts(namespace, account)[0]
