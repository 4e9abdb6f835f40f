"""Where in Git an application is described, for the denial that sends a person there.

Read from the reconciler's own object, in the background: a denial never waits for it. The first one
for an application may have to do without; later ones know.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final
from urllib.parse import quote

import structlog

from glasswarden.cluster.client import ApiServer, ApiServerError
from glasswarden.kube.engines.engine import GitLocation, Owner
from glasswarden.kube.engines.registry import BY_NAME
from glasswarden.policy.policy import Policy, users_of

FRESH_SECONDS: Final = 300.0
RETRY_SECONDS: Final = 10.0
MOST: Final = 10_000
"""Applications that are remembered: more than any cluster has, less than memory."""
WAITING: Final = 100
"""Look-ups that may wait for their turn: names on forged marks have no end."""

_ACCOUNT: Final = "system:serviceaccount:"

log = structlog.get_logger()


class GitSources:
    """Looks sources up in the background. Belongs to one event loop."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._known: dict[Owner, tuple[float, GitLocation | None]] = {}
        """Each owner's source, and until when it need not be looked up again; the oldest first."""
        self._waiting: set[Owner] = set()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sources")

    def find_known(self, owner: Owner) -> GitLocation | None:
        """Return *owner*'s source if it is known by now; have it looked up if it is not."""
        fresh_until, source = self._known.get(owner, (0.0, None))
        if time.monotonic() > fresh_until and self._may_wait(owner):
            self._waiting.add(owner)
            self._pool.submit(self._look_up, owner)
        return source

    def _may_wait(self, owner: Owner) -> bool:
        return owner not in self._waiting and len(self._waiting) < WAITING

    def close(self) -> None:
        """Stop looking things up."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _look_up(self, owner: Owner) -> None:
        _, source = self._known.get(owner, (0.0, None))
        lasts = RETRY_SECONDS
        try:
            source, lasts = source_of(owner, self._server), FRESH_SECONDS
        except (ApiServerError, LookupError, TypeError, AttributeError) as error:
            log.info("source not found", engine=owner.engine, app=owner.app, reason=str(error))
        finally:
            self._remember(owner, source, lasts)
            self._waiting.discard(owner)

    def _remember(self, owner: Owner, source: GitLocation | None, lasts: float) -> None:
        """Keep what was found, in place of what was found longest ago where there is too much."""
        self._known.pop(owner, None)
        while len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        self._known[owner] = time.monotonic() + lasts, source


def with_namespace(owner: Owner, policy: Policy) -> Owner:
    """Return *owner* with a namespace, where its engine's marks leave out the engine's own.

    That is the namespace of the first of its controllers that is a service account.
    """
    engine = BY_NAME.get(owner.engine)
    if engine is None or not engine.home_namespace or owner.namespace:
        return owner
    for name in users_of(engine, policy.document):
        account = name.removeprefix(_ACCOUNT).split(":")
        if name.startswith(_ACCOUNT) and "*" not in account[0]:
            return replace(owner, namespace=account[0])
    return replace(owner, namespace=engine.home_namespace)


def source_of(owner: Owner, server: ApiServer) -> GitLocation | None:
    """Return where *owner* is described. Blocks."""
    engine = BY_NAME.get(owner.engine)
    if engine is None or engine.git_location is None:
        return None
    return engine.git_location(owner, lambda *place: server.get(_path(*place)))


def _path(api: str, namespace: str, resource: str, name: str) -> str:
    """Return the path of an object; names come from marks, which anybody may have written."""
    if {namespace, name} & {"", ".", ".."}:
        raise LookupError(f"nothing is called {name!r} in {namespace!r}")
    place, own = quote(namespace, safe=""), quote(name, safe="")
    return f"/apis/{api}/namespaces/{place}/{resource}/{own}"
