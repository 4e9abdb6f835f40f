"""The Namespaces that have a grant for all that is in them, from a cache that a watch keeps fresh.

The mutating webhook puts a label on such a Namespace, and only those are watched: few, at any time.
One that is not among them has no grant.
"""

from typing import Final

from glasswarden.kube.objects import Object
from glasswarden.policy.breakglass import names
from webhook import watched
from webhook.apiserver import ApiServer, NotFound
from webhook.review import Resource
from webhook.watched import Watched

_NAMESPACES: Final = Resource("", "v1", "namespaces")


class Unsettled(Exception):
    """Which Namespaces have a grant is not known at the moment: read the one that matters."""


class Namespaces:
    """Knows the Namespaces with a grant. Safe to use from several threads."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._watched = Watched(server, _NAMESPACES, label=names.ACTIVE)

    def start(self) -> None:
        """Begin to watch."""
        self._watched.start()

    def cached(self, name: str) -> Object | None:
        """Return the Namespace called *name* if it has a grant; raise `Unsettled` if none can tell.

        Of the Namespace there is what the API server calls metadata.
        """
        objects = self._watched.objects
        if objects is None:
            raise Unsettled(name)
        return objects.get(("", name))

    def read(self, name: str) -> Object | None:
        """Return it as the API server has it now. Blocks; raises `ApiServerError`."""
        try:
            found = watched.read(self._server, _NAMESPACES, "", name)
        except NotFound:
            return None
        return found if names.ACTIVE in found["metadata"].get("labels", {}) else None
