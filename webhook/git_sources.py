"""Where in Git an application is described, for the denial that sends a person there.

Read from the reconciler's own object, in the background: a denial never waits for it. The first one
for an application may have to do without; later ones know.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

import structlog

from glasswarden.cluster.client import ApiServer, ApiServerError
from glasswarden.kube.engines.engine import Owner
from glasswarden.policy.policy import CONTROLLERS, Policy
from glasswarden.policy.write import Source

FRESH_SECONDS: Final = 300.0
RETRY_SECONDS: Final = 10.0
MOST: Final = 10_000
"""Applications that are remembered: more than any cluster has, less than memory."""
WAITING: Final = 100
"""Look-ups that may wait for their turn: names on forged marks have no end."""
ARGOCD_NAMESPACE: Final = "argocd"
"""Where Applications are whose marks name no namespace, unless its controllers are elsewhere."""

_ACCOUNT: Final = "system:serviceaccount:"

_FLUX_SOURCES: Final = {
    "GitRepository": "gitrepositories",
    "OCIRepository": "ocirepositories",
    "Bucket": "buckets",
}

log = structlog.get_logger()


class Sources:
    """Looks sources up in the background. Belongs to one event loop."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._known: dict[Owner, tuple[float, Source | None]] = {}
        """Each owner's source, and until when it need not be looked up again; the oldest first."""
        self._waiting: set[Owner] = set()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sources")

    def known(self, owner: Owner) -> Source | None:
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

    def _remember(self, owner: Owner, source: Source | None, lasts: float) -> None:
        """Keep what was found, in place of what was found longest ago where there is too much."""
        self._known.pop(owner, None)
        while len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        self._known[owner] = time.monotonic() + lasts, source


def located(owner: Owner, policy: Policy) -> Owner:
    """Return *owner* with a namespace: an Application without one is where Argo CD itself is.

    That is the namespace of the first of its controllers that has a name of one.
    """
    if owner.kind != "Application" or owner.namespace:
        return owner
    chosen = policy.document.engines.argocd.controllers
    for name in CONTROLLERS["argocd"] if chosen is None else chosen:
        account = name.removeprefix(_ACCOUNT).split(":")
        if name.startswith(_ACCOUNT) and "*" not in account[0]:
            return replace(owner, namespace=account[0])
    return replace(owner, namespace=ARGOCD_NAMESPACE)


def source_of(owner: Owner, server: ApiServer) -> Source | None:
    """Return where *owner* is described. Blocks."""
    if owner.kind == "Application":
        return _of_application(owner, server)
    if owner.kind == "Kustomization":
        return _of_kustomization(owner, server)
    return None


def _of_application(owner: Owner, server: ApiServer) -> Source:
    place = owner.namespace or ARGOCD_NAMESPACE, "applications", owner.app
    spec = server.get(_url("argoproj.io/v1alpha1", *place))["spec"]
    source: dict[str, Any] = spec.get("source") or spec["sources"][0]
    return Source(source["repoURL"], source.get("path", ""), source.get("targetRevision", ""))


def _of_kustomization(owner: Owner, server: ApiServer) -> Source:
    home = owner.namespace or ""
    own = _url("kustomize.toolkit.fluxcd.io/v1", home, "kustomizations", owner.app)
    spec = server.get(own)["spec"]
    reference = spec["sourceRef"]
    place = reference.get("namespace", home), _FLUX_SOURCES[reference["kind"]], reference["name"]
    repository = server.get(_url("source.toolkit.fluxcd.io/v1", *place))["spec"]
    url = repository.get("url") or repository.get("endpoint", "")
    branch = repository.get("ref", {}).get("branch", "")
    return Source(url, spec.get("path", "").removeprefix("./"), branch)


def _url(api: str, namespace: str, resource: str, name: str) -> str:
    """Return where an object is; names come from marks, which anybody may have written."""
    if {namespace, name} & {"", ".", ".."}:
        raise LookupError(f"nothing is called {name!r} in {namespace!r}")
    place, own = quote(namespace, safe=""), quote(name, safe="")
    return f"/apis/{api}/namespaces/{place}/{resource}/{own}"
