"""An API server on loopback that serves the objects in a folder; it denies the others."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KUBECONFIG = """
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: "%s"}}]
users: [{name: test, user: {}}]
"""
VERBS = ["get", "list"]


def _discovery(group: str, **plurals: str) -> dict[str, Any]:
    resources = [
        {
            "resource": plural,
            "responseKind": {"kind": kind},
            "scope": "Namespaced",
            "verbs": VERBS,
        }
        for kind, plural in plurals.items()
    ]
    versions = [{"version": "v1", "resources": resources}]
    return {"items": [{"metadata": {"name": group}, "versions": versions}]}


DISCOVERY = {
    "/api": _discovery("", Secret="secrets"),
    "/apis": _discovery("apps", Deployment="deployments"),
}


@contextmanager
def serving(folder: Path, objects: dict[str, str]) -> Iterator[Path]:
    """Serve files of *folder* by their paths in *objects*, not found where a name is empty.

    Yields the kubeconfig.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = self._answer(self.path.partition("?")[0])
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _answer(self, path: str) -> tuple[int, bytes]:
            if path in DISCOVERY:
                return 200, json.dumps(DISCOVERY[path]).encode()
            if path not in objects:
                return 403, b'{"kind": "Status", "message": "no"}'
            file = objects[path]
            return (200, (folder / file).read_bytes()) if file else (404, b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG % f"http://127.0.0.1:{server.server_address[1]}")
        yield kubeconfig
        server.shutdown()
        thread.join()
