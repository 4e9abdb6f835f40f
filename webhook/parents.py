"""The objects behind a `scale`: their marks, from a cache that watches keep fresh.

A Scale carries neither labels nor annotations, so whose object it scales has to be looked up. The
first `scale` of a resource starts a watch of that resource's metadata; from then on the answer is
in memory. What is not there is read directly, once. What cannot be read is an error: nobody guesses
whose object it is.
"""

import threading

from glasswarden.cluster.apiserver import ApiServer
from glasswarden.kube.objects import Object
from webhook import watched
from webhook.review import Resource
from webhook.watched import Watched


class Parents:
    """Looks parents up. Safe to use from several threads."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._watched: dict[Resource, Watched] = {}

    def cached(self, resource: Resource, namespace: str, name: str, uid: str) -> Object | None:
        """Return the parent if it is in memory; the first call for a resource starts its watch."""
        with self._lock:
            watching = self._watched.get(resource)
            if watching is None:
                watching = self._watched[resource] = Watched(self._server, resource)
                watching.start()
        found = (watching.objects or {}).get((namespace, name))
        # Another uid: it was deleted and made anew, and the watch has not told yet.
        return found if found is not None and found["metadata"].get("uid") == uid else None

    def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return the parent as the API server has it now. Blocks; raises `ApiServerError`."""
        return watched.read(self._server, resource, namespace, name)
