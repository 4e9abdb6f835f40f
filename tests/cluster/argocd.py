"""Argo CD's repo-server, application-controller and server, as processes, on a control plane.

It is the released program with service accounts and tokens of its own, in `argocd`, where
Glasswarden knows them by name, and a Redis of its own, never one that the machine already runs.
Applications sync and heal by themselves. The server lets everybody in, for it is on loopback; who
says who they are, with the token that `login` returns, is known by name.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import urllib3

from tests.cluster.build import programs
from tests.cluster.catalogue import ARGOCD
from tests.cluster.controlplane import ControlPlane
from tests.cluster.gitrepository import BRANCH, GitRepository
from tests.cluster.kubectl import isolated_environment
from tests.cluster.probe import accepts, is_well
from tests.cluster.processes import LOOPBACK, free_ports, with_free_ports
from tests.cluster.retries import eventually

NAMESPACE: Final = "argocd"
APPLICATION: Final = "applications.argoproj.io"
PERSON: Final = "responder"
"""Who has an account of their own in Argo CD."""


class RedisMissing(Exception):
    """Argo CD cannot run without Redis, and this machine has none."""


@dataclass(frozen=True, slots=True)
class Application:
    """What Argo CD keeps equal to a folder of a repository."""

    cluster: ControlPlane
    name: str

    def get(self) -> dict[str, Any]:
        """Return the Application as it is."""
        found: dict[str, Any] = self.cluster.get(APPLICATION, self.name, "-n", NAMESPACE)
        return found

    def sync(self) -> None:
        """Ask for a look at Git and at the cluster now; it applies what it finds by itself."""
        self.cluster.as_("admin").kubectl(
            *("annotate", APPLICATION, self.name, "-n", NAMESPACE, "--overwrite"),
            "argocd.argoproj.io/refresh=normal",
        )

    def wait_synced(self, revision: str, *, seconds: float = 60) -> None:
        """Wait until *revision* is applied and Argo CD sees no difference."""
        self.sync()
        what = f"Argo CD to apply {revision} ({self.name})"
        eventually(lambda: is_synced(self.get(), revision), what, seconds=seconds)


class ArgoCD:
    """Running programs, from `with ArgoCD(cluster) as argocd` to the end of that block."""

    def __init__(self, cluster: ControlPlane) -> None:
        self.server = ""
        """The address of the API, once it runs."""
        self._cluster = cluster
        self._password = secrets.token_hex(8)
        self._folder = cluster.folder / "argocd"
        self._processes = cluster.new_processes()

    def __enter__(self) -> Self:
        redis, program = find_redis(), programs([ARGOCD])["argocd"]
        self._folder.mkdir(exist_ok=True)
        self._cluster.define(ARGOCD.definitions)
        self._cluster.apply(installation(hashed(program, self._password)))
        try:
            self.server = with_free_ports(lambda: self._start(redis, program))
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
    def deploy(self, repository: GitRepository, path: str, namespace: str) -> Iterator[Application]:
        """Let Argo CD keep *namespace* equal to the folder *path*, until the end of the block."""
        deployed = Application(self._cluster, namespace)
        self._cluster.apply(manifest(deployed.name, repository.url, path, namespace))
        try:
            yield deployed
        finally:
            self._cluster.as_("admin").kubectl(
                "delete", APPLICATION, deployed.name, "-n", NAMESPACE, "--wait=false"
            )

    def login(self) -> str:
        """Return a token by which the API knows `PERSON`."""
        answer = urllib3.request(
            "POST",
            f"{self.server}/api/v1/session",
            json={"username": PERSON, "password": self._password},
            timeout=10,
        )
        return str(answer.json()["token"])

    def command(self, *arguments: str) -> None:
        """Run `argocd ARGUMENTS` as `PERSON`, through the server."""
        server = self.server.removeprefix("http://")
        known_by = ("--server", server, "--plaintext", "--auth-token", self.login())
        subprocess.run(
            [programs([ARGOCD])["argocd"], *arguments, *known_by],
            env=isolated_environment(self._folder) | {"ARGOCD_BINARY_NAME": "argocd"},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )

    def _start(self, redis: str, program: Path) -> str:
        """Start every program on ports chosen now; return the server's address."""
        self._processes.stop()
        cache, repo, server, *metrics = free_ports(6)
        own_redis = f"--redis={LOOPBACK}:{cache}"
        others = [own_redis, f"--repo-server={LOOPBACK}:{repo}", "--repo-server-plaintext"]
        on_loopback = [f"--address={LOOPBACK}", f"--metrics-address={LOOPBACK}"]
        self._start_redis(redis, cache)
        flags = [own_redis, *on_loopback, f"--port={repo}", "--disable-tls"]
        self._start_role(program, "argocd-repo-server", metrics[0], flags)
        # Out of the box a self-heal that keeps failing waits up to five minutes for its next try.
        patience = "--self-heal-backoff-cap-seconds=6"
        flags = [*others, "--app-resync=10", "--app-resync-jitter=0", patience]
        self._start_role(program, "argocd-application-controller", metrics[1], flags)
        flags = [*others, *on_loopback, f"--port={server}", "--insecure"]
        self._start_role(program, "argocd-server", metrics[2], flags, health=server)
        return f"http://{LOOPBACK}:{server}"

    def _start_redis(self, program: str, port: int) -> None:
        nothing_kept = ("--save", "", "--appendonly", "no", "--dir", str(self._folder))
        command = [program, "--bind", LOOPBACK, "--port", str(port), *nothing_kept]
        redis = self._processes.start("redis", command)
        redis.wait_until(lambda: accepts(port))

    def _start_role(
        self, program: Path, role: str, metrics: int, flags: list[str], health: int | None = None
    ) -> None:
        """Start *program*, which is all of Argo CD, as *role*."""
        account = self._cluster.service_account(NAMESPACE, role, "cluster-admin")
        environment = {
            "ARGOCD_BINARY_NAME": role,
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_GPG_ENABLED": "false",
            # Unless told, every instance on a machine would share these.
            "ARGOCD_ASK_PASS_SOCK": str(self._folder / "ask-pass.sock"),
            "ARGOCD_SSH_DATA_PATH": str(self._folder),
            "ARGOCD_TLS_DATA_PATH": str(self._folder),
            "KUBECONFIG": str(account.kubeconfig),
        }
        command = [str(program), f"--metrics-port={metrics}", *flags]
        process = self._processes.start(role, command, environment)
        process.wait_until(lambda: is_well(f"http://{LOOPBACK}:{health or metrics}/healthz"))


def find_redis() -> str:
    """Return the machine's Redis server, or raise with what to do."""
    if found := shutil.which("redis-server"):
        return found
    raise RedisMissing(
        "Argo CD needs a redis-server on PATH: `make extras` installs it on Debian as root; "
        "elsewhere install your system's package of that name."
    )


def is_synced(application: Mapping[str, Any], revision: str) -> bool:
    """Return whether Argo CD has applied *revision* and sees no difference."""
    status = application.get("status", {})
    sync = status.get("sync", {})
    phase = status.get("operationState", {}).get("phase")
    return (sync.get("status"), sync.get("revision"), phase) == ("Synced", revision, "Succeeded")


def manifest(name: str, url: str, path: str, namespace: str) -> dict[str, Any]:
    """Return what tells Argo CD to deploy a folder of a repository, and to defend it."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "project": "default",
            "source": {"repoURL": url, "path": path, "targetRevision": BRANCH},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": namespace},
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
        },
    }


def hashed(program: Path, password: str) -> str:
    """Return *password* as Argo CD keeps it."""
    completed = subprocess.run(
        [program, "account", "bcrypt", "--password", password],
        env={**os.environ, "ARGOCD_BINARY_NAME": "argocd"},
        capture_output=True,
        text=True,
        check=True,
    )
    return completed.stdout.strip()


def installation(password: str) -> list[dict[str, Any]]:
    """Return what every installation has besides its programs; *password* is hashed."""
    anything = [{"group": "*", "kind": "*"}]
    project = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": NAMESPACE},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"namespace": "*", "server": "*"}],
            "clusterResourceWhitelist": anything,
        },
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        settings(
            "ConfigMap",
            "argocd-cm",
            data={"users.anonymous.enabled": "true", f"accounts.{PERSON}": "login"},
        ),
        settings("ConfigMap", "argocd-rbac-cm", data={"policy.default": "role:admin"}),
        settings(
            "Secret",
            "argocd-secret",
            stringData={
                "server.secretkey": secrets.token_hex(32),
                f"accounts.{PERSON}.password": password,
            },
        ),
        project,
    ]


def settings(kind: str, name: str, **content: dict[str, str]) -> dict[str, Any]:
    """Return a ConfigMap or Secret that Argo CD recognizes as its own."""
    labels = {"app.kubernetes.io/part-of": "argocd"}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **content}
