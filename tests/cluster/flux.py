"""Flux's source-controller and kustomize-controller, as processes, on a control plane.

They are the released programs with service accounts and tokens of their own, in `flux-system`,
where Glasswarden knows them by name. Only what Flux needs to deploy from Git is here.
"""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.cluster.build import programs
from tests.cluster.catalogue import KUSTOMIZE_CONTROLLER, SOURCE_CONTROLLER
from tests.cluster.controlplane import ControlPlane
from tests.cluster.gitrepository import BRANCH, GitRepository
from tests.cluster.probe import is_well
from tests.cluster.processes import LOOPBACK, free_ports, with_free_ports
from tests.cluster.retries import eventually

NAMESPACE: Final = "flux-system"
KUSTOMIZATION: Final = "kustomizations.kustomize.toolkit.fluxcd.io"
GIT_REPOSITORY: Final = "gitrepositories.source.toolkit.fluxcd.io"


@dataclass(frozen=True, slots=True)
class Kustomization:
    """What Flux keeps equal to a folder of a repository."""

    cluster: ControlPlane
    name: str
    namespace: str

    def get(self) -> dict[str, Any]:
        """Return the Kustomization as it is."""
        found: dict[str, Any] = self.cluster.get(KUSTOMIZATION, self.name, "-n", self.namespace)
        return found

    def sync(self) -> None:
        """Ask for a look at Git and at the cluster now, not at the next interval."""
        for resource in (GIT_REPOSITORY, KUSTOMIZATION):
            self._kubectl(
                "annotate",
                resource,
                self.name,
                "--overwrite",
                f"reconcile.fluxcd.io/requestedAt={time.time_ns()}",
            )

    def wait_synced(self, revision: str, *, seconds: float = 60) -> None:
        """Wait until *revision* is applied and Flux says that it is ready."""
        self.sync()
        what = f"Flux to apply {revision} ({self.namespace}/{self.name})"
        eventually(lambda: is_synced(self.get(), revision), what, seconds=seconds)

    def _kubectl(self, *arguments: str) -> None:
        self.cluster.as_("admin").kubectl(*arguments, "-n", self.namespace)


class Flux:
    """Running controllers, from `with Flux(cluster) as flux` to the end of that block."""

    def __init__(self, cluster: ControlPlane) -> None:
        self._cluster = cluster
        self._processes = cluster.new_processes()

    def __enter__(self) -> Self:
        built = programs([SOURCE_CONTROLLER, KUSTOMIZE_CONTROLLER])
        for module in (SOURCE_CONTROLLER, KUSTOMIZE_CONTROLLER):
            self._cluster.define(module.definitions)
        try:
            with_free_ports(lambda: self._start(built))
        except BaseException:
            self._processes.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._processes.stop()

    @contextmanager
    def deploy(
        self,
        repository: GitRepository,
        path: str,
        namespace: str,
        *,
        interval: str = "2s",
        retry: str = "2s",
    ) -> Iterator[Kustomization]:
        """Let Flux keep *namespace* equal to the folder *path*, until the end of the block.

        Where it fails, it tries again after *retry*; while it tries, it does not say so.
        """
        deployed = Kustomization(self._cluster, namespace, NAMESPACE)
        self._cluster.apply(manifests(deployed, repository.url, path, interval, retry))
        try:
            yield deployed
        finally:
            for resource in (KUSTOMIZATION, GIT_REPOSITORY):
                self._cluster.as_("admin").kubectl(
                    "delete", resource, deployed.name, "-n", NAMESPACE, "--wait=false"
                )

    def _start(self, built: Mapping[str, Path]) -> None:
        self._processes.stop()
        storage, *ports = free_ports(5)
        folder = self._cluster.folder / "flux-storage"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        address = f"{LOOPBACK}:{storage}"
        storage_flags = [
            f"--storage-path={folder}",
            f"--storage-addr={address}",
            f"--storage-adv-addr={address}",
        ]
        self._start_one(built["source-controller"], ports[:2], storage_flags)
        self._start_one(built["kustomize-controller"], ports[2:], [])

    def _start_one(self, program: Path, ports: list[int], flags: list[str]) -> None:
        account = self._cluster.service_account(NAMESPACE, program.name, "cluster-admin")
        health, metrics = (f"{LOOPBACK}:{port}" for port in ports)
        process = self._processes.start(
            program.name,
            [program, f"--health-addr={health}", f"--metrics-addr={metrics}", *flags],
            {"KUBECONFIG": str(account.kubeconfig), "RUNTIME_NAMESPACE": NAMESPACE},
        )
        process.wait_until(lambda: is_well(f"http://{health}/readyz"))


def is_synced(kustomization: Mapping[str, Any], revision: str) -> bool:
    """Return whether Flux has applied *revision* and is content."""
    status = kustomization.get("status", {})
    ready = {one["type"]: one["status"] for one in status.get("conditions", [])}.get("Ready")
    return str(status.get("lastAppliedRevision", "")).endswith(revision) and ready == "True"


def manifests(
    deployed: Kustomization, url: str, path: str, interval: str, retry: str
) -> list[dict[str, Any]]:
    """Return what tells Flux to deploy a folder of a repository."""
    metadata = {"name": deployed.name, "namespace": deployed.namespace}
    source = {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": metadata,
        "spec": {"url": url, "ref": {"branch": BRANCH}, "interval": interval},
    }
    kustomization = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": metadata,
        "spec": {
            "sourceRef": {"kind": "GitRepository", "name": deployed.name},
            "path": f"./{path}",
            "targetNamespace": deployed.name,
            "interval": interval,
            "retryInterval": retry,
            "prune": True,
        },
    }
    return [source, kustomization]
