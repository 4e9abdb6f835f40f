"""Where in Git an application is described, for the denial that sends a person there.

Read from the reconciler's own object, in the background: a denial never waits for it. The first one
for an application may have to do without; later ones know.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import structlog

from glasswarden.cluster.apiserver import ApiServer, ApiServerError
from glasswarden.kube.owners import Owner
from glasswarden.policy.write import Source

FRESH_SECONDS: Final = 300.0
RETRY_SECONDS: Final = 10.0
MOST: Final = 10_000
"""Applications that are remembered: more than any cluster has, less than memory."""

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
        """Each owner's source, and until when it need not be looked up again."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sources")

    def known(self, owner: Owner | None) -> Source | None:
        """Return *owner*'s source if it is known by now; have it looked up if it is not."""
        if owner is None:
            return None
        fresh_until, source = self._known.get(owner, (0.0, None))
        now = time.monotonic()
        if now > fresh_until and (owner in self._known or len(self._known) < MOST):
            self._known[owner] = now + FRESH_SECONDS, source
            self._pool.submit(self._look_up, owner)
        return source

    def close(self) -> None:
        """Stop looking things up."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _look_up(self, owner: Owner) -> None:
        try:
            source = source_of(owner, self._server)
        except (ApiServerError, LookupError, TypeError, AttributeError) as error:
            log.info("source not found", engine=owner.engine, app=owner.app, reason=str(error))
            _, source = self._known[owner]
            self._known[owner] = time.monotonic() + RETRY_SECONDS, source
        else:
            self._known[owner] = time.monotonic() + FRESH_SECONDS, source


def source_of(owner: Owner, server: ApiServer) -> Source | None:
    """Return where *owner* is described. Blocks."""
    if owner.kind == "Application":
        return _of_application(owner, server)
    if owner.kind == "Kustomization":
        return _of_kustomization(owner, server)
    return None


def _of_application(owner: Owner, server: ApiServer) -> Source:
    namespace = owner.namespace or "argocd"
    url = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/applications/{owner.app}"
    spec = server.get(url)["spec"]
    source: dict[str, Any] = spec.get("source") or spec["sources"][0]
    return Source(source["repoURL"], source.get("path", ""), source.get("targetRevision", ""))


def _of_kustomization(owner: Owner, server: ApiServer) -> Source:
    root = "/apis/kustomize.toolkit.fluxcd.io/v1"
    spec = server.get(f"{root}/namespaces/{owner.namespace}/kustomizations/{owner.app}")["spec"]
    reference = spec["sourceRef"]
    namespace = reference.get("namespace", owner.namespace)
    resource = _FLUX_SOURCES[reference["kind"]]
    root = f"/apis/source.toolkit.fluxcd.io/v1/namespaces/{namespace}"
    repository = server.get(f"{root}/{resource}/{reference['name']}")["spec"]
    url = repository.get("url") or repository.get("endpoint", "")
    branch = repository.get("ref", {}).get("branch", "")
    return Source(url, spec.get("path", "").removeprefix("./"), branch)
