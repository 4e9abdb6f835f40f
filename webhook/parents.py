"""The objects behind a `scale`: their marks, from a cache that watches keep fresh.

A Scale carries neither labels nor annotations, so whose object it scales has to be looked up. The
first `scale` of a resource starts a watch of that resource's metadata; from then on the answer is
in memory, at most as old as the API server's own watch cache. What is not there is read directly,
once. What cannot be read is an error: nobody guesses whose object it is.
"""

import threading
import time
from typing import Any, Final
from urllib.parse import quote

import structlog

from glasswarden.cluster.apiserver import ApiServer, ApiServerError, NotFound
from glasswarden.kube.objects import Object
from webhook.review import Resource

_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_KEPT: Final = (
    "annotations", "deletionTimestamp", "labels", "name", "namespace", "ownerReferences", "uid",
)  # fmt: skip

PAGE: Final = 500
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0

Key = tuple[str, str]
"""Namespace and name."""

log = structlog.get_logger()


class Parents:
    """Looks parents up. Safe to use from several threads."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._watched: dict[Resource, _Watched] = {}

    def cached(self, resource: Resource, namespace: str, name: str, uid: str) -> Object | None:
        """Return the parent if it is in memory; the first call for a resource starts its watch."""
        with self._lock:
            watched = self._watched.get(resource)
            if watched is None:
                watched = self._watched[resource] = _Watched(self._server, resource)
                watched.start()
        found = watched.objects.get((namespace, name))
        # Another uid: it was deleted and made anew, and the watch has not told yet.
        return found if found is not None and found["metadata"].get("uid") == uid else None

    def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return the parent as the API server has it now. Blocks; raises `ApiServerError`."""
        kind = _kind_of(self._server, resource)
        found = self._server.get(f"{_url(resource, namespace)}/{name}", _METADATA)
        return _parent(found, resource, kind)


class _Watched:
    """One resource's objects, by namespace and name, kept by a thread of its own."""

    def __init__(self, server: ApiServer, resource: Resource) -> None:
        self.objects: dict[Key, Object] = {}
        self._server = server
        self._resource = resource

    def start(self) -> None:
        """Begin to watch; the thread ends with the process."""
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                self._list_and_watch()
            except (ApiServerError, KeyError, ValueError) as error:
                # What was seen may be out of date by now: better a direct read than a stale answer.
                self.objects = {}
                log.warning("watch broken", resource=self._resource.resource, reason=str(error))
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE

    def _list_and_watch(self) -> None:
        """Follow the resource until the API server no longer knows where we are."""
        kind = _kind_of(self._server, self._resource)
        version = self._list(kind)
        while True:
            for event in self._server.watch(_url(self._resource), version, _METADATA):
                if event["type"] == "ERROR":
                    return
                version = event["object"]["metadata"]["resourceVersion"]
                self._take(event["type"], _parent(event["object"], self._resource, kind))

    def _list(self, kind: str) -> str:
        """Take all objects, page by page; return the resource version to watch from."""
        found: dict[Key, Object] = {}
        token = ""
        while True:
            url = f"{_url(self._resource)}?limit={PAGE}&continue={quote(token)}"
            page = self._server.get(url, _METADATA_LIST)
            parents = (_parent(item, self._resource, kind) for item in page["items"])
            found.update((_key(parent), parent) for parent in parents)
            token = page["metadata"].get("continue", "")
            if not token:
                self.objects = found
                version: str = page["metadata"]["resourceVersion"]
                return version

    def _take(self, event: str, parent: Object) -> None:
        if event == "DELETED":
            self.objects.pop(_key(parent), None)
        elif event != "BOOKMARK":
            self.objects[_key(parent)] = parent


def _kind_of(server: ApiServer, resource: Resource) -> str:
    """Return the kind that *resource* is a collection of; metadata alone does not tell."""
    for each in server.get(_group_url(resource))["resources"]:
        if each["name"] == resource.resource:
            kind: str = each["kind"]
            return kind
    raise NotFound(f"the API server knows no {resource.resource} in {_group_url(resource)}")


def _parent(metadata: dict[str, Any], resource: Resource, kind: str) -> Object:
    """Return an object of that kind, with what ownership is read from and no more."""
    version = f"{resource.group}/{resource.version}" if resource.group else resource.version
    kept = {key: metadata["metadata"][key] for key in _KEPT if key in metadata["metadata"]}
    # The whole object once more, where `kubectl apply` is used: nothing that a cache should hold.
    kept.get("annotations", {}).pop("kubectl.kubernetes.io/last-applied-configuration", None)
    return {"apiVersion": version, "kind": kind, "metadata": kept}


def _key(parent: Object) -> Key:
    return parent["metadata"].get("namespace", ""), parent["metadata"].get("name", "")


def _url(resource: Resource, namespace: str = "") -> str:
    within = f"/namespaces/{quote(namespace)}" if namespace else ""
    return f"{_group_url(resource)}{within}/{resource.resource}"


def _group_url(resource: Resource) -> str:
    root = f"/apis/{resource.group}" if resource.group else "/api"
    return f"{root}/{resource.version}"
