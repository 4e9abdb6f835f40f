"""The Namespaces that have a grant for all that is in them, from a cache that a watch keeps fresh.

The mutating webhook puts a label on such a Namespace, and only those are watched: few, at any time.
One that is not among them has no grant. The first question starts the watch; until it has begun,
and while it is broken, the Namespace in question is read directly.
"""

import asyncio
import time
from typing import Final

import structlog

from glasswarden.cluster.apiserver import ApiServer, ApiServerError, NotFound
from glasswarden.kube.objects import Object, labels_of
from glasswarden.policy.breakglass import names
from webhook import watched
from webhook.review import Resource
from webhook.watched import Watched

RETRY_SECONDS: Final = 5.0
"""How long nobody tries again to read a Namespace after one could not be read."""

NAMESPACES: Final = Resource("", "v1", "namespaces")

log = structlog.get_logger()


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
        what a watch tells may be some moments old.
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
            found = watched.read(self._server, NAMESPACES, "Namespace", "", name)
        except NotFound:
            return None
        except ApiServerError as error:
            self._failed_until = time.monotonic() + RETRY_SECONDS
            log.warning("namespace unknown", namespace=name, reason=str(error))
            raise NamespaceUnknown(name) from error
        return found if names.ACTIVE in labels_of(found) else None
