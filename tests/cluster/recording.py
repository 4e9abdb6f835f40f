"""Records the demo's story: real people type real commands, and the reviews are kept.

`python -m tests.cluster.recording` renews `glasswarden/demo/recording.json`. A proxy stands between
the API server and the webhook and keeps what passes; the webhook's answers are not kept, because
the demo makes them anew.
"""

import http.client
import json
import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.cluster.applications import Manifest, by_argocd, by_flux, deployment
from tests.cluster.controlplane import ControlPlane
from tests.cluster.guard import Guard, registered, serving
from tests.cluster.kubectl import Edit, Result, replace
from tests.cluster.processes import LOOPBACK

RECORDING = Path(__file__).parents[2] / "glasswarden" / "demo" / "recording.json"
NAMESPACE = "shop"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the script."""

    title: str
    person: str
    arguments: tuple[str, ...]
    edit: Edit = ()
    stdin: Manifest | None = None


SCRIPT = (
    Line(
        "A Deployment that nobody owns: edited as ever.",
        "developer",
        ("set", "image", "deployment/scratch", "app=registry.example/try:2", "-n", NAMESPACE),
    ),
    Line(
        "A developer edits a Deployment that Flux owns.",
        "developer",
        ("edit", "deployment/web", "-n", NAMESPACE),
        edit=replace("replicas: 3", "replicas: 5"),
    ),
    Line(
        "Another image for one that Argo CD owns.",
        "developer",
        ("set", "image", "deployment/api", "app=registry.example/api:hotfix", "-n", NAMESPACE),
    ),
    Line(
        "Would it be allowed? A dry run is told, and neither refused nor recorded.",
        "responder",
        (
            "set",
            "env",
            "deployment/web",
            "LOG_LEVEL=debug",
            "FEATURE_X=on",
            "-n",
            NAMESPACE,
            "--dry-run=server",
        ),
    ),
    Line(
        "Taking the owner's mark off does not set an object free.",
        "outsider",
        ("label", "deployment/web", "kustomize.toolkit.fluxcd.io/name-", "-n", NAMESPACE),
    ),
    Line(
        "A Secret's values are shown to nobody, and stored nowhere.",
        "developer",
        ("patch", "secret/db", "-n", NAMESPACE, "-p", '{"stringData": {"password": "letmein"}}'),
    ),
    Line("And a deletion.", "outsider", ("delete", "deployment/api", "-n", NAMESPACE)),
)


@dataclass
class Proxy:
    """Passes reviews on to the webhook and keeps them."""

    guard: Guard
    reviews: list[bytes] = field(default_factory=list)

    def forward(self, path: str, body: bytes) -> tuple[int, bytes]:
        self.reviews.append(body)
        context = ssl.create_default_context(cafile=self.guard.certificates.authority)
        connection = http.client.HTTPSConnection(LOOPBACK, self.guard.port, context=context)
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@contextmanager
def proxied(guard: Guard) -> Iterator[tuple[Proxy, str]]:
    """Run a proxy before *guard*; return it with its address."""
    proxy = Proxy(guard)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, answer = proxy.forward(self.path, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing: the script is what is to be seen."""

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(guard.certificates.certificate, guard.certificates.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield proxy, f"https://{LOOPBACK}:{server.server_port}"
        server.shutdown()


def record(guard: Guard) -> dict[str, Any]:
    """Play the script on *guard*'s cluster and return it with the reviews it led to."""
    version = guard.cluster.as_("admin").kubectl("version", "-o", "json").json()
    set_the_scene(guard.cluster)
    with (
        proxied(guard) as (proxy, url),
        registered(guard.cluster, url, guard.certificates.authority),
    ):
        steps = [step_of(line, guard.cluster, proxy) for line in SCRIPT]
    return {"server": version["serverVersion"]["gitVersion"], "steps": steps}


def set_the_scene(cluster: ControlPlane) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db", "namespace": NAMESPACE},
        "stringData": {"password": "swordfish"},
    }
    cluster.as_("admin").kubectl("create", "namespace", NAMESPACE)
    cluster.as_("admin").kubectl("create", "-f", "-", stdin=deployment("scratch", NAMESPACE))
    flux = cluster.service_account("flux-system", "kustomize-controller", "cluster-admin")
    argocd = cluster.service_account("argocd", "argocd-application-controller", "cluster-admin")
    for account, manager, manifest in (
        (flux, "kustomize-controller", by_flux(deployment("web", NAMESPACE), "shop")),
        (flux, "kustomize-controller", by_flux(secret, "shop")),
        (argocd, "argocd-controller", by_argocd(deployment("api", NAMESPACE), "shop-api")),
    ):
        account.kubectl(
            "apply", "--server-side", f"--field-manager={manager}", "-f", "-", stdin=manifest
        )


def step_of(line: Line, cluster: ControlPlane, proxy: Proxy) -> dict[str, Any]:
    seen = len(proxy.reviews)
    result = cluster.as_(line.person).kubectl(
        *line.arguments, editor=line.edit, stdin=line.stdin, check=False
    )
    # Several reviews of one command are attempts at the same write: the last one counted.
    review = json.loads(proxy.reviews[-1]) if len(proxy.reviews) > seen else None
    return {
        "title": line.title,
        "person": line.person,
        "command": result.command,
        "review": review,
        "before": before_our_words(result),
    }


def before_our_words(result: Result) -> str:
    """Return what kubectl printed before the webhook's own message, or all where there is none."""
    if result.returncode == 0:
        return result.stdout
    words, said, _ = result.stderr.partition("denied the request: ")
    return words + said


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        ControlPlane() as cluster,
        serving(cluster, Path(folder)) as guard,
    ):
        recording = record(guard)
    RECORDING.write_text(json.dumps(recording, indent=1, ensure_ascii=False) + "\n")
    asked = sum(step["review"] is not None for step in recording["steps"])
    print(f"{RECORDING.name}: {len(recording['steps'])} commands, {asked} reviews")


if __name__ == "__main__":
    main()
