"""A Kubernetes control plane of one's own: etcd, kube-apiserver and kube-controller-manager.

It runs on free loopback ports and in a folder of its own, so that several run side by side. It has
RBAC, service-account tokens, an audit log and every admission plug-in that is on by default. It has
no node: Deployments get their ReplicaSets and Pods, and the Pods stay pending.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import urllib3
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.cluster import audit, components
from tests.cluster.build import programs
from tests.cluster.catalogue import KUBERNETES
from tests.cluster.components import Layout, Ports
from tests.cluster.kubeconfig import certificate_user, token_user, write_kubeconfig
from tests.cluster.kubectl import Caller, Manifests, isolated_environment
from tests.cluster.people import PEOPLE, Person, rbac, service_account
from tests.cluster.pki import Authority, new_key, pem_of, write_secret
from tests.cluster.probe import is_well
from tests.cluster.processes import LOOPBACK, Processes, with_free_ports
from tests.cluster.retries import eventually

SERVER_NAMES: Final = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "localhost",
)
CONTROLLER_MANAGER: Final = Person("system:kube-controller-manager", ())


class ControlPlane:
    """A running control plane, from `with ControlPlane() as cluster` to the end of that block."""

    def __init__(self, folder: Path | None = None, apiserver_flags: tuple[str, ...] = ()) -> None:
        self.keep = folder is not None
        """Whether the folder, with the logs, outlives the control plane."""
        self.programs = programs(KUBERNETES)
        self.folder = folder or Path(tempfile.mkdtemp(prefix="glasswarden-cluster-"))
        self.server = ""
        self.restart_apiserver: Callable[[], None] = lambda: None
        """Ends the API server and starts it again where it was; the others stay."""
        self._layout = Layout(self.folder)
        self._authority = Authority()
        self._apiserver_flags = apiserver_flags
        self._processes = self.new_processes()

    def __enter__(self) -> Self:
        try:
            self._write_files()
            self.server = with_free_ports(self._start)
            self.apply(rbac())
        except BaseException:
            self.keep = True
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Ctrl-C is how one leaves, not a failure to look into.
        self.keep = self.keep or (kind is not None and kind is not KeyboardInterrupt)
        self.stop()

    def stop(self) -> None:
        """Stop every program; remove the folder unless it is to be kept."""
        self._processes.stop()
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pids(self) -> list[int]:
        """The ids of the programs that run."""
        return self._processes.pids

    def as_(self, person: str) -> Caller:
        """Return *person* (see `people.PEOPLE`), ready to run kubectl."""
        return self._caller(person)

    def kubeconfig(self, person: str) -> Path:
        """Return the path of *person*'s kubeconfig."""
        return self._layout.kubeconfig(PEOPLE[person].name)

    def apply(self, manifest: Manifests) -> None:
        """Apply one manifest, or several, as the admin and server-side."""
        self.as_("admin").kubectl("apply", "--server-side", "-f", "-", stdin=manifest)

    def define(self, folder: Path) -> None:
        """Apply the custom resource definitions in *folder* and wait until they are served."""
        files = f"--filename={folder}"
        self.as_("admin").kubectl("apply", "--server-side", files)
        # Not `kubectl wait`: it gives up on a definition that has no conditions yet.
        eventually(lambda: all_established(self.get(files)), f"the definitions in {folder}")

    def get(self, *arguments: str) -> Any:  # noqa: ANN401  (what the API server sent)
        """Return what `kubectl get ARGUMENTS` finds, as the admin."""
        return self.as_("admin").kubectl("get", *arguments, "-o", "json").json()

    def audit_events(self) -> Iterator[dict[str, Any]]:
        """Yield the audit events written so far, oldest first."""
        return audit.read_events(self._layout.audit_log)

    def service_account(self, namespace: str, name: str, cluster_role: str | None = None) -> Caller:
        """Create a service account, bound to *cluster_role*, and return it with a real token."""
        self.apply(service_account(namespace, name, cluster_role))
        token = self.as_("admin").kubectl(
            "create", "token", name, "--namespace", namespace, "--duration", "24h"
        )
        user = f"system:serviceaccount:{namespace}:{name}"
        self._write_kubeconfig(self.server, user, token_user(token.stdout.strip()))
        return self._caller(user)

    def forget(self) -> None:
        """Have etcd forget how things were at the very beginning, as it does every few minutes."""
        # It refuses once it has forgotten more than that by itself, which is as good.
        urllib3.request("POST", f"{self._etcd}/v3/kv/compaction", json={"revision": "10"})

    def new_processes(self) -> Processes:
        """Return an empty group of programs that log beside ours, for what runs on top of us."""
        return Processes(self._layout.logs, isolated_environment(self._layout.home))

    def _caller(self, user: str) -> Caller:
        return Caller(
            user, self._layout.kubeconfig(user), self.programs["kubectl"], self._layout.home
        )

    def _write_files(self) -> None:
        layout = self._layout
        for folder in (layout.home / "tmp", layout.logs, layout.pki):
            folder.mkdir(parents=True)
        layout.audit_policy.write_text(json.dumps(audit.POLICY))
        self._authority.pair.write(layout.pki, "ca")
        addresses = (LOOPBACK, components.SERVICE_ADDRESS)
        self._authority.issue_server(addresses, SERVER_NAMES).write(layout.pki, "apiserver")
        front_proxy = Authority()
        front_proxy.pair.write(layout.pki, "front-proxy-ca")
        front_proxy.issue_client("front-proxy-client", ()).write(layout.pki, "front-proxy-client")
        key = new_key()
        write_secret(layout.pki / "service-accounts.key", pem_of(key))
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (layout.pki / "service-accounts.pub").write_bytes(public)

    def _start(self) -> str:
        """Start every program on ports chosen now; return the API server's address."""
        ports = Ports.choose()
        server = f"https://{LOOPBACK}:{ports.apiserver}"
        for person in (*PEOPLE.values(), CONTROLLER_MANAGER):
            pair = self._authority.issue_client(person.name, person.groups)
            self._write_kubeconfig(server, person.name, certificate_user(pair))
        try:
            self._start_programs(ports, server)
        except BaseException:
            self._processes.stop()
            shutil.rmtree(self._layout.etcd_data, ignore_errors=True)
            raise
        return server

    def _start_programs(self, ports: Ports, server: str) -> None:
        self._etcd = f"http://{LOOPBACK}:{ports.etcd}"
        layout, start = self._layout, self._processes.start
        etcd = start("etcd", components.etcd(self.programs["etcd"], layout, ports))
        etcd.wait_until(lambda: is_well(f"http://{LOOPBACK}:{ports.etcd}/readyz"))
        self._start_apiserver(ports, server)
        program = self.programs["kube-controller-manager"]
        kubeconfig = layout.kubeconfig(CONTROLLER_MANAGER.name)
        command = components.controller_manager(program, layout, ports, kubeconfig)
        manager = start("kube-controller-manager", command)
        manager.wait_until(self._admits_pods)

    def _start_apiserver(self, ports: Ports, server: str) -> None:
        program = self.programs["kube-apiserver"]
        command = components.apiserver(program, self._layout, ports, self._apiserver_flags)
        running = self._processes.start("kube-apiserver", command)
        running.wait_until(lambda: is_well(f"{server}/readyz"))

        def restart() -> None:
            running.stop()
            self._start_apiserver(ports, server)

        self.restart_apiserver = restart

    def _admits_pods(self) -> bool:
        """Return whether the controllers have made what a Pod cannot be created without."""
        found = self.as_("admin").kubectl("get", "serviceaccount/default", check=False)
        return found.returncode == 0

    def _write_kubeconfig(self, server: str, user: str, proof: dict[str, str]) -> None:
        write_kubeconfig(
            self._layout.kubeconfig(user),
            server=server,
            authority=self._authority.pair.certificate,
            name=user,
            user=proof,
        )


def all_established(definitions: dict[str, Any]) -> bool:
    """Return whether the API server serves what *definitions*, a list of them, define."""
    return all(
        any(
            condition["type"] == "Established" and condition["status"] == "True"
            for condition in definition.get("status", {}).get("conditions") or ()
        )
        # `kubectl get` prints one object as itself, several as a list.
        for definition in definitions.get("items", [definitions])
    )
