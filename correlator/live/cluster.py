"""Live objects from an API server: paged lists by kind, and the defaults of custom resources.

The number of requests grows with the kinds, not with the objects. Defaults come from the OpenAPI
schemas of the API server.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

import msgspec

from correlator.live.source import Kind, KindUnavailable, KindUnknown, NamespacesUnavailable, Scope
from glasswarden.cluster.client import (
    ApiServer,
    ApiServerError,
    Expired,
    Forbidden,
    NotFound,
    Unreachable,
)
from glasswarden.cluster.discovery import Resource, Served, served_by
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import Key, Path

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Schemas:
    """Reads the description of an API group when one of its kinds is first asked about."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._known: dict[tuple[str, str], dict[str, Any]] = {}

    def default_at(self, kind: Kind, path: Path) -> Value:
        """Return what the API server puts at *path* where nothing is said; `ABSENT` if nothing."""
        schema: Any = self._schemas(kind.group, kind.version).get(kind.name)
        for step in path.steps:
            if not isinstance(schema, dict):
                return ABSENT
            if isinstance(step, Key):
                fields = schema.get("properties")
                fields = fields if isinstance(fields, dict) else {}
                schema = fields.get(step.name, schema.get("additionalProperties"))
            else:
                schema = schema.get("items")
        return schema.get("default", ABSENT) if isinstance(schema, dict) else ABSENT

    def _schemas(self, group: str, version: str) -> dict[str, Any]:
        """Return the schemas of a group's kinds, none where they cannot be had."""
        if (group, version) not in self._known:
            try:
                document = _decode(self._server.fetch(f"/openapi/v3/apis/{group}/{version}"))
            except (ApiServerError, msgspec.DecodeError):
                document = {}
            self._known[group, version] = dict(_index_by_kind(document, group))
        return self._known[group, version]


def _index_by_kind(document: dict[str, Any], group: str) -> list[tuple[str, Any]]:
    found = document.get("components")
    schemas = found.get("schemas") if isinstance(found, dict) else None
    return [
        (each["kind"], schema)
        for schema in (schemas.values() if isinstance(schemas, dict) else ())
        if isinstance(schema, dict)
        for each in schema.get("x-kubernetes-group-version-kind") or ()
        if isinstance(each, dict) and each.get("group") == group and "kind" in each
    ]


PAGE: Final = 500
MOST_RESTARTS: Final = 3
"""How often a list is begun anew that outlived the API server's memory of it."""

_EVENT: Final = Kind("", "v1", "Event")
_FULL: Final = "application/json"
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_NEVER_DECLARED: Final = frozenset(
    {
        ("", "ComponentStatus"), ("", "Endpoints"), ("", "Event"), ("", "Node"), ("", "Pod"),
        ("apps", "ControllerRevision"), ("apps", "ReplicaSet"),
        ("coordination.k8s.io", "Lease"), ("discovery.k8s.io", "EndpointSlice"),
        ("events.k8s.io", "Event"), ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "VolumeAttachment"),
    }
)  # fmt: skip
"""Kinds that controllers make by the thousand and no repository declares: no orphans are there."""


class _Metadata(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, frozen=True):
    metadata: _Metadata
    items: list[dict[str, Any]] | None = None


_decode_page: Final = msgspec.json.Decoder(_Page).decode


class ClusterLive:
    """Knows what one API server holds."""

    def __init__(self, server: ApiServer, scope: Scope) -> None:
        """Ask *server* what it serves. Raises `ApiServerError`."""
        self._server = server
        self._scope = scope
        self.namespace = scope.namespace
        self._schemas = Schemas(server)
        self.served: Served = served_by(server)
        self.versions: dict[Kind, str] = {}
        """The resource version of each kind's list: where a watch goes on."""

    def locate(self, ref: Ref) -> Ref:
        """Return *ref* with the namespace it is found in."""
        resource = self.resource_of(Kind(ref.group, ref.version, ref.kind))
        if not resource.namespaced:
            return replace(ref, namespace="")
        return ref if ref.namespace else replace(ref, namespace=self._scope.home)

    def objects(self, kind: Kind, namespaces: frozenset[str]) -> Iterator[Object]:
        """Yield the objects of *kind*, of all namespaces or, lacking the right, of *namespaces*."""
        resource = self.resource_of(kind)
        try:
            try:
                yield from self._list(kind, resource, self._scope.namespace, _FULL)
            except Forbidden:
                if self._scope.namespace or not resource.namespaced:
                    raise
                yield from self._list_by_namespace(kind, resource, namespaces)
        except ApiServerError as error:
            raise KindUnavailable(kind, reason_of(error)) from error

    def _list_by_namespace(
        self, kind: Kind, resource: Resource, namespaces: frozenset[str]
    ) -> Iterator[Object]:
        forbidden = set()
        for namespace in sorted(namespaces):
            try:
                yield from self._list(kind, resource, namespace, _FULL)
            except Forbidden:
                forbidden.add(namespace)
        if forbidden == namespaces:
            raise KindUnavailable(kind, "no right to list it")
        why = "no right to list it" if forbidden else "no right to list it in other namespaces"
        raise NamespacesUnavailable(kind, frozenset(forbidden), why)

    def anywhere(self, kind: Kind, name: str = "") -> Iterator[Object]:
        """Yield the objects of *kind* in all namespaces, or those that are called *name*."""
        try:
            only = f"metadata.name={name}" if name else ""
            yield from self._list(kind, self.resource_of(kind), "", _FULL, only)
        except ApiServerError as error:
            raise KindUnavailable(kind, reason_of(error)) from error

    def events(self, component: str) -> Iterator[Object]:
        """Yield the Events that *component* wrote, in all namespaces."""
        try:
            yield from self._list(
                _EVENT, self.resource_of(_EVENT), "", _FULL, f"source={component}"
            )
        except ApiServerError as error:
            raise KindUnavailable(str(_EVENT), reason_of(error)) from error

    def one(self, ref: Ref) -> Object | None:
        """Return the object *ref*, none where there is none."""
        kind = Kind(ref.group, ref.version, ref.kind)
        try:
            return _decode(self._server.fetch(self.resource_of(kind).url(ref.namespace, ref.name)))
        except (msgspec.DecodeError, RecursionError) as error:
            raise KindUnavailable(str(ref), f"what is served is no object: {error}") from error
        except NotFound:
            return None
        except Forbidden as error:
            raise KindUnavailable(str(ref), "no right to read it") from error
        except ApiServerError as error:
            raise KindUnavailable(str(ref), reason_of(error)) from error

    def other_kinds(self, kinds: frozenset[tuple[str, str]]) -> list[Kind]:
        """Return the kinds that may hold what Git once declared."""
        return [
            Kind(each.group, each.version, each.kind)
            for each in self.served.preferred
            if (each.group, each.kind) not in kinds | _NEVER_DECLARED
            and {"list", "delete"} <= each.verbs
            and (each.namespaced or not self._scope.namespace)
        ]

    def default_at(self, kind: Kind, path: Path) -> Value:
        """Return what the API server fills in at *path* of a custom resource."""
        return self._schemas.default_at(kind, path)

    def metadata(self, kind: Kind) -> Iterator[Object]:
        """Yield the metadata of the objects of *kind*."""
        resource = self.resource_of(kind)
        try:
            yield from self._list(kind, resource, self._scope.namespace, _METADATA)
        except ApiServerError as error:
            raise KindUnavailable(kind, reason_of(error)) from error

    def resource_of(self, kind: Kind) -> Resource:
        """Return where *kind* is served. Raises `KindUnavailable`."""
        found = self.served.resources.get((kind.group, kind.version, kind.name))
        if found is not None:
            return found
        if f"{kind.group}/{kind.version}" in self.served.stale:
            raise KindUnavailable(kind, "the server behind its API group does not answer")
        raise KindUnknown(kind, "the API server serves no such kind")

    def _list(
        self, kind: Kind, resource: Resource, namespace: str, accept: str, fields: str = ""
    ) -> Iterator[Object]:
        head = {"apiVersion": _api_version_of(kind), "kind": kind.name}
        only = f"&fieldSelector={quote(fields)}" if fields else ""
        token, restarts = "", 0
        while True:
            url = f"{resource.url(namespace)}?limit={PAGE}&continue={quote(token)}{only}"
            try:
                page = _parse_page(self._server.fetch(url, accept))
            except Expired:
                restarts += 1
                if not token or restarts > MOST_RESTARTS:
                    raise
                token = ""  # from the beginning: objects may come twice, none is left out
                continue
            self.versions[kind] = page.metadata.resource_version
            for item in page.items or ():
                yield {**item, **head}
            token = page.metadata.continue_
            if not token:
                return


def _parse_page(body: bytes) -> _Page:
    """Return the page that *body* is; what a server behind an API group sends may be anything."""
    try:
        return _decode_page(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ApiServerError(f"what is served is no list: {error}") from error


def reason_of(error: ApiServerError) -> str:
    """Return why something could not be read, for a person."""
    match error:
        case Forbidden():
            return "no right to list it"
        case NotFound():
            return "the API server no longer serves it"
        case Expired():
            return "the list changed faster than it could be read"
        case Unreachable():
            return f"the API server did not answer: {error}"
        case _:
            return str(error)


def _api_version_of(kind: Kind) -> str:
    return f"{kind.group}/{kind.version}" if kind.group else kind.version
