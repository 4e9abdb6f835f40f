"""The objects behind a `scale`: their marks, from a cache that watches keep fresh.

A Scale carries neither labels nor annotations, so whose object it scales has to be looked up. The
first `scale` of a resource starts a watch of that resource's metadata; from then on the answer is
in memory. What is not there, or not as the Scale shows it, is read directly, once. What cannot be
read is an error: nobody guesses whose object it is.
"""

import threading

from glasswarden.cluster.apiserver import ApiServer
from glasswarden.kube.objects import Object, metadata_of
from webhook import watched
from webhook.review import Resource
from webhook.watched import Watched


class Parents:
    """Looks parents up. Safe to use from several threads."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._watched: dict[Resource, Watched] = {}
        self._kinds: dict[Resource, str] = {}

    def cached(self, resource: Resource, scale: Object) -> Object | None:
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
            kind = self._kinds[resource] = watched.kind_of(self._server, resource)
        return watched.read(self._server, resource, kind, namespace, name)


def _is_of(scale: Object, parent: Object) -> bool:
    """Tell whether *scale* shows *parent* at the very version that is in memory.

    Another uid: it was deleted and made anew. Another version: it was written to, perhaps marked,
    and the watch has not told yet.
    """
    shown, kept = metadata_of(scale), metadata_of(parent)
    return all(
        shown.get(field) not in (None, "") and shown.get(field) == kept.get(field)
        for field in ("uid", "resourceVersion")
    )
