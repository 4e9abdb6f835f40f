"""How the programs of a control plane are told to run: command lines as values, nothing started."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.processes import LOOPBACK, free_ports

SERVICE_RANGE: Final = "10.96.0.0/16"
SERVICE_ADDRESS: Final = "10.96.0.1"
ISSUER: Final = "https://kubernetes.default.svc.cluster.local"

ONE_AUDIT_LOG_MB: Final = 10_000
"""Unasked the API server begins a new file every 100 MB, and who reads one misses the rest."""

Command = list[str | Path]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the files of one control plane are."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def etcd_data(self) -> Path:
        return self.folder / "etcd"

    @property
    def audit_policy(self) -> Path:
        return self.folder / "audit-policy.json"

    @property
    def audit_log(self) -> Path:
        return self.logs / "audit.jsonl"

    def kubeconfig(self, user: str) -> Path:
        return self.folder / "kubeconfigs" / f"{user.replace(':', '_')}.json"


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one attempt to start."""

    etcd: int
    etcd_peers: int
    apiserver: int
    controller_manager: int

    @classmethod
    def choose(cls) -> "Ports":
        return cls(*free_ports(4))


def etcd(program: Path, layout: Layout, ports: Ports) -> Command:
    clients = f"http://{LOOPBACK}:{ports.etcd}"
    peers = f"http://{LOOPBACK}:{ports.etcd_peers}"
    return [
        program,
        f"--data-dir={layout.etcd_data}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        # The data does not outlive the test run, so waiting for the disk protects nothing.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver(program: Path, layout: Layout, ports: Ports, flags: tuple[str, ...] = ()) -> Command:
    pki = layout.pki
    return [
        program,
        f"--etcd-servers=http://{LOOPBACK}:{ports.etcd}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={ports.apiserver}",
        # The `kubernetes` Service would need endpoints, and loopback may not be one.
        "--endpoint-reconciler-type=none",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        *front_proxy(pki),
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={pki / 'service-accounts.pub'}",
        f"--service-account-signing-key-file={pki / 'service-accounts.key'}",
        f"--audit-policy-file={layout.audit_policy}",
        f"--audit-log-path={layout.audit_log}",
        "--audit-log-format=json",
        f"--audit-log-maxsize={ONE_AUDIT_LOG_MB}",
        *flags,
    ]


def front_proxy(pki: Path) -> Command:
    """Return what lets the API server pass a user on to an aggregated one."""
    return [
        f"--requestheader-client-ca-file={pki / 'front-proxy-ca.crt'}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki / 'front-proxy-client.crt'}",
        f"--proxy-client-key-file={pki / 'front-proxy-client.key'}",
    ]


def controller_manager(program: Path, layout: Layout, ports: Ports, kubeconfig: Path) -> Command:
    pki = layout.pki
    return [
        program,
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={ports.controller_manager}",
        "--leader-elect=false",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={pki / 'service-accounts.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--cluster-signing-cert-file={pki / 'ca.crt'}",
        f"--cluster-signing-key-file={pki / 'ca.key'}",
        # Each controller fetches a token of its own first: at the default rate that takes 4 s.
        "--kube-api-qps=1000",
        "--kube-api-burst=1000",
        # An autoscaler's write is what tests wait for; the default is 15 s.
        "--horizontal-pod-autoscaler-sync-period=2s",
    ]
