"""Caches of the webhook: metadata of objects in memory, which watches keep up to date.

A cache is at most as old as the API server's own watch cache. Before the first list and after a
broken watch it is empty, and the object in question is read directly: no answer is stale.

`Namespaces` has the Namespaces with a grant for everything in them. The mutating webhook labels
them, and only labelled ones are watched. `Parents` has the objects behind a `scale`: a Scale has
neither labels nor annotations. The first use of a cache starts its watch. What cannot be read is an
error; nothing is guessed.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import structlog

from glasswarden.cluster.client import ApiServer, ApiServerError, Expired, NotFound
from glasswarden.kube.objects import Object, labels_of, metadata_of
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import declared_tokens
from webhook.review import Resource

_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_KEPT: Final[dict[str, type]] = {
    "annotations": dict,
    "deletionTimestamp": str,
    "generation": int,
    "labels": dict,
    "name": str,
    "namespace": str,
    "ownerReferences": list,
    "resourceVersion": str,
    "uid": str,
}
"""What is kept of an object's metadata, with its type in JSON."""

PAGE: Final = 500
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0

Key = tuple[str, str]
"""Namespace and name."""

log = structlog.get_logger()


class ObjectMalformed(ApiServerError):
    """What the API server sent is no object: nothing is known about it."""


class Watched:
    """One resource's objects, by namespace and name. Read from any thread, kept by one."""

    def __init__(
        self,
        server: ApiServer,
        resource: Resource,
        *,
        label: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.objects: dict[Key, Object] | None = None
        """Those that carry the label *label*, or all; none while that is not known."""
        self._server = server
        self._resource = resource
        self._label = label
        self._sleep = sleep

    def start(self) -> None:
        """Begin to watch; the thread ends with the process."""
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self) -> None:
        """Keep `objects` for good, whatever the API server sends."""
        pause = FIRST_PAUSE
        while True:
            try:
                self._list_and_watch()
            except Exception as error:  # noqa: BLE001 - the outermost edge of the thread
                self.objects = None
                log.warning("watch broken", resource=self._resource.resource, reason=_why(error))
                self._sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE

    def _list_and_watch(self) -> None:
        """Follow the resource until the API server no longer knows where we are: list again.

        Raises `Expired` where it never knew since the last list, so that no endless loop lists.
        """
        kind = kind_of(self._server, self._resource)
        version, watched = self._list(kind), False
        while True:
            try:
                for event in self._server.watch(self._url(), version, _METADATA):
                    version = self._take(event, kind)
                    watched = True
            except Expired:
                if watched:
                    return
                raise
            watched = True

    def _list(self, kind: str) -> str:
        """Take all objects, page by page; return the resource version to watch from."""
        found: dict[Key, Object] = {}
        token = ""
        while True:
            url = self._url(f"limit={PAGE}", f"continue={quote(token)}")
            page = self._server.get(url, _METADATA_LIST)
            # An empty list of Go is null.
            objects = (self._readable(item, kind) for item in page["items"] or ())
            found.update((_key(obj), obj) for obj in objects if obj is not None)
            token = page["metadata"].get("continue", "")
            if not token:
                self.objects = found
                version: str = page["metadata"]["resourceVersion"]
                return version

    def _take(self, event: dict[str, Any], kind: str) -> str:
        """Store what *event* contains; return the resource version that it brings us to."""
        how, found = event["type"], event["object"]
        if how == "ERROR":
            raise Expired(f"{self._url()}: {found.get('message', '')}")
        version: str = found["metadata"]["resourceVersion"]
        if how != "BOOKMARK" and self.objects is not None:
            obj = None if how == "DELETED" else self._readable(found, kind)
            if obj is None:
                self.objects.pop(_key(found), None)
            else:
                self.objects[_key(obj)] = obj
        return version

    def _readable(self, item: Any, kind: str) -> Object | None:  # noqa: ANN401 - whatever was sent
        """Return the object that *item* is; none where it cannot be read.

        Such an object is left out, so that it is read directly when it matters. The others stay.
        """
        try:
            return partial(item, self._resource, kind)
        except Exception as error:  # noqa: BLE001 - whatever one object does, the others count
            log.warning("object unreadable", resource=self._resource.resource, reason=_why(error))
            return None

    def _url(self, *query: str) -> str:
        selector = [f"labelSelector={quote(self._label, safe='')}"] if self._label else []
        return "?".join(filter(None, [url_of(self._resource), "&".join([*selector, *query])]))


def read(server: ApiServer, resource: Resource, kind: str, namespace: str, name: str) -> Object:
    """Return the metadata of one object as the API server has it now. Raises `ApiServerError`."""
    found = server.get(f"{url_of(resource, namespace)}/{quote(name)}", _METADATA)
    return partial(found, resource, kind)


def kind_of(server: ApiServer, resource: Resource) -> str:
    """Return the kind that *resource* is a collection of; metadata alone does not have it."""
    for each in server.get(_group_url(resource))["resources"] or ():
        if each["name"] == resource.resource:
            kind: str = each["kind"]
            return kind
    raise NotFound(f"the API server knows no {resource.resource} in {_group_url(resource)}")


def partial(found: Any, resource: Resource, kind: str) -> Object:  # noqa: ANN401 - whatever was sent
    """Return an object of that kind, with what ownership and grants are read from and no more.

    Raises `ObjectMalformed`.
    """
    version = f"{resource.group}/{resource.version}" if resource.group else resource.version
    kept = _kept_metadata_of(found.get("metadata") if isinstance(found, dict) else None)
    # What shows that a stamp is somebody's own is not kept, so neither is such a stamp.
    for token in declared_tokens(found):
        del kept["annotations"][token]
    # The whole object once more, where `kubectl apply` is used: nothing that a cache should hold.
    kept.get("annotations", {}).pop("kubectl.kubernetes.io/last-applied-configuration", None)
    return {"apiVersion": version, "kind": kind, "metadata": kept}


def _kept_metadata_of(metadata: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever was sent
    """Return what is kept of *metadata*; raise `ObjectMalformed` where that is of a wrong type."""
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise ObjectMalformed("an object without a name")
    kept = {key: metadata[key] for key in _KEPT if metadata.get(key) is not None}
    for key, value in kept.items():
        if not isinstance(value, _KEPT[key]):
            raise ObjectMalformed(f"metadata.{key} of an object is no {_KEPT[key].__name__}")
    return kept


def url_of(resource: Resource, namespace: str = "") -> str:
    """Return where the objects of *resource* are, in one namespace or in all."""
    within = f"/namespaces/{quote(namespace)}" if namespace else ""
    return f"{_group_url(resource)}{within}/{resource.resource}"


def _key(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"].get("name", "")


def _why(error: Exception) -> str:
    """Return the reason for the log; the text of an unexpected error may quote an object."""
    return str(error) if isinstance(error, ApiServerError) else type(error).__name__


def _group_url(resource: Resource) -> str:
    root = f"/apis/{resource.group}" if resource.group else "/api"
    return f"{root}/{resource.version}"


RETRY_SECONDS: Final = 5.0
"""How long nobody tries again to read a Namespace after one could not be read."""

NAMESPACES: Final = Resource("", "v1", "namespaces")


class NamespaceUnknown(Exception):
    """What stands on a Namespace could not be found out."""


class Namespaces:
    """Knows the Namespaces with a grant. Belongs to one event loop."""

    def __init__(self, server: ApiServer, watching: Watched | None = None) -> None:
        self._server = server
        self._watched = watching or Watched(server, NAMESPACES, label=names.ACTIVE)
        self._begun = False
        self._failed_until = 0.0

    async def find(self, name: str, *, fresh: bool = False) -> Object | None:
        """Return the Namespace called *name* if it has a grant; raise `NamespaceUnknown`.

        Of the Namespace there is what the API server calls its metadata; *fresh* from there, for
        what a watch delivers may be some moments old.
        """
        if not self._begun:
            self._begun = True
            self._watched.start()
        objects = self._watched.objects
        if objects is not None and not fresh:
            return objects.get(("", name))
        if time.monotonic() < self._failed_until:
            raise NamespaceUnknown(name)
        return await asyncio.get_running_loop().run_in_executor(None, self._read, name)

    def _read(self, name: str) -> Object | None:
        try:
            found = read(self._server, NAMESPACES, "Namespace", "", name)
        except NotFound:
            return None
        except ApiServerError as error:
            self._failed_until = time.monotonic() + RETRY_SECONDS
            log.warning("namespace unknown", namespace=name, reason=str(error))
            raise NamespaceUnknown(name) from error
        return found if names.ACTIVE in labels_of(found) else None


class Parents:
    """Looks parents up. Safe to use from several threads."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._watched: dict[Resource, Watched] = {}
        self._kinds: dict[Resource, str] = {}

    def find_cached(self, resource: Resource, scale: Object) -> Object | None:
        """Return the parent of *scale* if it is in memory, and just as *scale* was made from it.

        The first call for a resource starts its watch.
        """
        with self._lock:
            watching = self._watched.get(resource)
            if watching is None:
                watching = self._watched[resource] = Watched(self._server, resource)
                watching.start()
        metadata = metadata_of(scale)
        key = metadata.get("namespace", ""), metadata.get("name", "")
        found = (watching.objects or {}).get(key)
        return found if found is not None and _is_of(scale, found) else None

    def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return the parent as the API server has it now. Blocks; raises `ApiServerError`."""
        kind = self._kinds.get(resource)
        if kind is None:
            kind = self._kinds[resource] = kind_of(self._server, resource)
        return read(self._server, resource, kind, namespace, name)


def _is_of(scale: Object, parent: Object) -> bool:
    """Return whether *scale* shows *parent* at the very version that is in memory.

    Another uid: it was deleted and made anew. Another version: it was written to, perhaps marked,
    and the watch has not delivered it yet.
    """
    shown, kept = metadata_of(scale), metadata_of(parent)
    return all(
        shown.get(field) not in (None, "") and shown.get(field) == kept.get(field)
        for field in ("uid", "resourceVersion")
    )
