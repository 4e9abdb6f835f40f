"""The recorded cluster: answers the few questions that the webhook itself asks of an API server.

Whose object is scaled, whether a Namespace has a grant, where in Git an application is described:
each is a GET of one object. There is nothing to list and nothing to watch, so the webhook reads
directly, as it does on a cluster whose watch is broken.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from glasswarden.kube.objects import Object, Ref, ref_of

HOST: Final = "127.0.0.1"
_PLURALS: Final = {"GitRepository": "gitrepositories"}


class RecordedCluster:
    """Objects by their address; a newer one takes the place of an older."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._answers: dict[str, Any] = {}
        for obj in objects:
            self.take(obj)

    def take(self, obj: Object) -> None:
        """Have *obj* be what is stored."""
        ref = ref_of(obj)
        root = f"/apis/{ref.group}/{ref.version}" if ref.group else f"/api/{ref.version}"
        known = self._answers.setdefault(root, {"resources": []})["resources"]
        known.append({"name": _plural(ref), "kind": ref.kind})
        within = f"/namespaces/{ref.namespace}" if ref.namespace else ""
        self._answers[f"{root}{within}/{_plural(ref)}/{ref.name}"] = obj

    def find(self, path: str) -> Any | None:  # noqa: ANN401 - an object, or a list of resources
        """Return what stands at *path*."""
        return self._answers.get(path)


@contextmanager
def served(cluster: RecordedCluster, kubeconfig: Path) -> Iterator[None]:
    """Serve *cluster* on loopback until the end of the block; *kubeconfig* tells where."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = cluster.find(self.path)
            body = json.dumps(found if found is not None else {}).encode()
            self.send_response(HTTPStatus.NOT_FOUND if found is None else HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the story is what is to be seen."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        server.daemon_threads = True
        kubeconfig.write_text(json.dumps(_kubeconfig(f"http://{HOST}:{server.server_port}")))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


def _plural(ref: Ref) -> str:
    return _PLURALS.get(ref.kind, f"{ref.kind.lower()}s")


def _kubeconfig(url: str) -> dict[str, Any]:
    name = "recorded"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": url}}],
        "users": [{"name": name, "user": {}}],
    }
