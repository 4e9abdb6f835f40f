"""Somebody else's mutating webhook: it adds a sidecar to Deployments, as service meshes do."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from certs.files import issue_into
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import LOOPBACK

SIDECAR: Final = {"name": "mesh", "image": "registry.example/mesh:1"}
MARK: Final = "mesh.example.com/injected"

Object = dict[str, Any]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body)["request"]
        patch = base64.b64encode(json.dumps(injected(request["object"])).encode()).decode()
        response = {"uid": request["uid"], "allowed": True}
        response |= {"patchType": "JSONPatch", "patch": patch}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        answer = json.dumps(review | {"response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def injected(obj: Object) -> list[Object]:
    """Return the JSON Patch that gives *obj* the sidecar and the mark that it lacks."""
    containers = obj["spec"]["template"]["spec"]["containers"]
    annotations = obj["metadata"].get("annotations")
    patch: list[Object] = []
    if SIDECAR["name"] not in [each["name"] for each in containers]:
        place = "/spec/template/spec/containers/-"
        patch.append({"op": "add", "path": place, "value": SIDECAR})
    if not annotations:
        patch.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    if MARK not in (annotations or {}):
        name = MARK.replace("/", "~1")
        patch.append({"op": "add", "path": f"/metadata/annotations/{name}", "value": "true"})
    return patch


@contextmanager
def injecting(
    cluster: ControlPlane, folder: Path, namespace: str, name: str, reinvocation: str
) -> Iterator[None]:
    """Run the injector for *namespace*, registered as *name*: webhooks are asked in that order."""
    certificates = issue_into(folder / name, [LOOPBACK], datetime.now(UTC))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    with ThreadingHTTPServer((LOOPBACK, 0), _Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://{LOOPBACK}:{server.server_port}/"
        bundle = base64.b64encode(certificates.authority.read_bytes()).decode()
        registration = _registration(name, namespace, {"url": url, "caBundle": bundle})
        registration["webhooks"][0]["reinvocationPolicy"] = reinvocation
        cluster.apply(registration)
        try:
            yield
        finally:
            cluster.as_("admin").kubectl("delete", "-f", "-", stdin=registration)
            server.shutdown()


def _registration(name: str, namespace: str, client: Object) -> Object:
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments"],
        "operations": ["UPDATE"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "inject.mesh.example.com",
                "admissionReviewVersions": ["v1"],
                "clientConfig": client,
                "rules": [rule],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "timeoutSeconds": 5,
            }
        ],
    }
