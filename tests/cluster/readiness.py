"""What a node's kubelet tells about pods that are well, in a control plane without nodes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from glasswarden.cluster.client import ApiServer, ApiServerError
from tests.cluster.api import api_server
from tests.cluster.controlplane import ControlPlane

PERIOD: Final = 0.2
READY: Final[list[dict[str, Any]]] = [
    {"op": "add", "path": "/status/phase", "value": "Running"},
    {"op": "add", "path": "/status/conditions", "value": [{"type": "Ready", "status": "True"}]},
]


@contextmanager
def pods_become_ready(cluster: ControlPlane, namespace: str) -> Iterator[None]:
    """Report every pod of *namespace* as ready until the end of the block, so rollouts finish."""
    objects, ended = api_server(cluster.kubeconfig("admin")), threading.Event()

    def follow() -> None:
        while not ended.wait(PERIOD):
            # One that was just deleted, or the end of the control plane: look again.
            with suppress(ApiServerError):
                report(objects, namespace)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def report(objects: ApiServer, namespace: str) -> None:
    for pod in objects.get(f"/api/v1/namespaces/{namespace}/pods")["items"]:
        if not is_ready(pod):
            objects.patch(f"{path_of(pod)}/status", READY)


def is_ready(pod: dict[str, Any]) -> bool:
    return any(
        (each["type"], each["status"]) == ("Ready", "True")
        for each in pod["status"].get("conditions", ())
    )


def path_of(pod: dict[str, Any]) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
