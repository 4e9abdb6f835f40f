"""What kubelet does for a pod that mounts a Secret, in a control plane without nodes."""

import base64
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from glasswarden.cluster.client import ApiServerError
from tests.cluster.api import api_server
from tests.cluster.controlplane import ControlPlane

PERIOD = 0.3


@contextmanager
def mounted(cluster: ControlPlane, namespace: str, name: str, folder: Path) -> Iterator[Path]:
    """Keep *folder* as kubelet keeps a mounted Secret, some time behind the API server."""
    objects = api_server(cluster.kubeconfig("admin"))
    path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
    write(folder, objects.get(path)["data"])
    ended = threading.Event()

    def follow() -> None:
        seen = ""
        while not ended.wait(PERIOD):
            try:
                secret = objects.get(path)
            except ApiServerError:
                continue
            if secret["metadata"]["resourceVersion"] != seen:
                seen = secret["metadata"]["resourceVersion"]
                write(folder, secret["data"])

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield folder
    finally:
        ended.set()
        thread.join()


def write(folder: Path, data: dict[str, str]) -> None:
    """Write all files into a new folder, then turn one link: old and new are never seen mixed."""
    version = folder / f"..{uuid4().hex}"
    version.mkdir(parents=True)
    for name, content in data.items():
        (version / name).write_bytes(base64.b64decode(content))
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(Path("..data") / name)
    current = folder / "..data"
    previous = current.resolve() if current.is_symlink() else None
    turned = folder / "..data_tmp"
    turned.symlink_to(version.name)
    turned.replace(current)
    if previous is not None:
        shutil.rmtree(previous)
