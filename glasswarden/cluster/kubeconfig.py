"""Kubeconfigs: where the API server is, and the credentials to use with it.

Certificates, keys and tokens are read inline, from files, or from a program that the kubeconfig
names, which is how people reach EKS, GKE and AKS. Several files are merged as kubectl merges them:
the first that names something wins.

A program is run as kubectl runs it (client.authentication.k8s.io): when credentials are first
needed, when they have expired, and when the API server no longer accepts them. Only the rare
`auth-provider` of OIDC is left to the official client, which takes long to load. Nothing is written
back.
"""

import base64
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import msgspec
import yaml

from glasswarden.cluster.client import Access, NoAccess, Renewed, access_in_cluster

INFO: Final = "KUBERNETES_EXEC_INFO"
"""The variable in which the program is told what is wanted of it."""

_GROUP: Final = "client.authentication.k8s.io"
_VERSIONS: Final = frozenset({f"{_GROUP}/v1", f"{_GROUP}/v1beta1"})


class Variable(msgspec.Struct, frozen=True):
    """One variable of the program's environment."""

    name: str
    value: str = ""


class Plugin(msgspec.Struct, frozen=True, rename="camel"):
    """A user's `exec` section."""

    api_version: str
    command: str
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None
    install_hint: str = ""
    interactive_mode: Literal["Never", "IfAvailable", "Always"] = "IfAvailable"
    provide_cluster_info: bool = False


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """What the program gives: a token, a client certificate with its key, or both."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: Literal["ExecCredential"]
    status: Status


def parse_plugin(section: object, beside: Path) -> Plugin:
    """Return the `exec` section of a kubeconfig in the folder *beside*; raise `ValueError`."""
    try:
        plugin = msgspec.convert(section, Plugin)
    except msgspec.ValidationError as error:
        raise ValueError(f"exec: {error}") from error
    if plugin.api_version not in _VERSIONS:
        known = " or ".join(sorted(_VERSIONS))
        raise ValueError(f"exec: apiVersion {plugin.api_version!r} is not {known}")
    if os.sep in plugin.command:  # as kubectl reads it: not searched for, and beside the file
        return msgspec.structs.replace(plugin, command=str(beside / plugin.command))
    return plugin


@dataclass(slots=True)
class ExecCredentials:
    """The newest credentials that a plugin gave. Safe to use from several threads."""

    plugin: Plugin
    cluster: Mapping[str, Any]
    """What the program may be told of the cluster, as `ExecCredential` has it."""

    load_pair: Callable[[bytes, bytes], None]
    """Takes a client certificate and its key into use, for connections to come."""

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _status: Status | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def token(self) -> str:
        """Return the bearer token, empty where a certificate serves. Raises `NoAccess`."""
        with self._lock:
            if self._status is None or self._is_over(self._status):
                self._status = self._renew()
            return self._status.token

    def forget(self) -> None:
        """Have the program asked again: the API server took its credentials no longer."""
        with self._lock:
            self._status = None

    def _is_over(self, status: Status) -> bool:
        end = status.expiration_timestamp
        return end is not None and end <= self.clock()

    def _renew(self) -> Status:
        status = ask(self.plugin, self.cluster)
        if status.client_certificate_data:
            pair = status.client_certificate_data.encode(), status.client_key_data.encode()
            try:
                self.load_pair(*pair)
            except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
                raise NoAccess(f"{self.plugin.command} gave no usable pair: {error}") from error
        return status


def ask(plugin: Plugin, cluster: Mapping[str, Any]) -> Status:
    """Run the program and return what it gives; its words to the person are passed on."""
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if plugin.interactive_mode == "Always" and not terminal:
        raise NoAccess(f"{plugin.command} asks for credentials, and there is no terminal")
    interactive = terminal and plugin.interactive_mode != "Never"
    try:
        ended = subprocess.run(  # noqa: S603 - the person's own kubeconfig names it
            [plugin.command, *(plugin.args or ())],
            env=_environment(plugin, _request(plugin, cluster, interactive=interactive)),
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=True,
        )
    except OSError as error:
        hint = f"\n{plugin.install_hint}" if plugin.install_hint else ""
        raise NoAccess(f"{plugin.command} cannot be run: {error.strerror}{hint}") from error
    except subprocess.CalledProcessError as error:
        raise NoAccess(f"{plugin.command} ended with {error.returncode}") from error
    return _read(plugin, ended.stdout)


def _request(plugin: Plugin, cluster: Mapping[str, Any], *, interactive: bool) -> dict[str, Any]:
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.provide_cluster_info:
        spec["cluster"] = dict(cluster)
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def _environment(plugin: Plugin, request: dict[str, Any]) -> dict[str, str]:
    own = {each.name: each.value for each in plugin.env or ()}
    return {**os.environ, **own, INFO: json.dumps(request)}


def _read(plugin: Plugin, said: bytes) -> Status:
    # What it printed is a secret, so an error shows none of it.
    try:
        answer = msgspec.json.decode(said, type=_Answer)
    except msgspec.DecodeError:
        raise NoAccess(f"{plugin.command} printed no ExecCredential") from None
    if answer.api_version != plugin.api_version:
        asked, got = plugin.api_version, answer.api_version
        raise NoAccess(f"{plugin.command} answered as {got!r}, but was asked as {asked!r}")
    status = answer.status
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise NoAccess(f"{plugin.command} gave only half of a certificate and its key")
    if not status.token and not status.client_certificate_data:
        raise NoAccess(f"{plugin.command} gave neither a token nor a certificate")
    return status


_EXTENSION: Final = "client.authentication.k8s.io/exec"
"""The extension of a cluster that is meant for programs which give credentials."""


_REMOVED: Final = {"username": "a password", "auth-provider": "an auth-provider"}
"""Credentials that Kubernetes accepts no longer; of the providers, only OIDC is left."""

OIDC: Final = "oidc"


@dataclass(frozen=True, slots=True)
class _Section:
    """A cluster, a user or a context, and the folder that its files are beside."""

    values: dict[str, Any]
    beside: Path

    def content(self, name: str) -> bytes | None:
        """Return what stands inline, or in the file that is named, or nothing."""
        if inline := self.values.get(f"{name}-data"):
            return base64.b64decode(inline, validate=True)
        return (self.beside / self.values[name]).read_bytes() if self.values.get(name) else None


@dataclass(frozen=True, slots=True)
class Choice:
    """What to take from a kubeconfig instead of what its current context names."""

    context: str = ""
    cluster: str = ""
    user: str = ""
    impersonated_user: str = ""
    impersonated_groups: tuple[str, ...] = ()

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers by which requests impersonate somebody."""
        return _impersonation(self.impersonated_user, self.impersonated_groups)


CURRENT: Final = Choice()
"""Nothing: what the current context names."""


def open_access(kubeconfig: Path | None, choice: Choice = CURRENT) -> Access:
    """Return the access that *kubeconfig* gives; without one, a pod's service account."""
    if kubeconfig is None:
        return access_in_cluster(choice.headers)
    return access_from(kubeconfig, choice)


def access_from(path: Path, choice: Choice = CURRENT) -> Access:
    """Return the access that the current context gives, but for what *choice* names.

    *path* is a kubeconfig or, as in $KUBECONFIG, several of them, of which some may be missing.
    """
    try:
        return _access(*_select_sections(path, choice), choice)
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoAccess(f"{path} is no kubeconfig that can be used: {error}") from error


def _select_sections(path: Path, choice: Choice) -> tuple[_Section, _Section]:
    """Return the cluster and the user that *choice* names, else those of the current context."""
    files = _files(path)
    configs = [(yaml.safe_load(file.read_text()) or {}, file.parent) for file in files]
    find = partial(_section_named, configs)
    if choice.cluster and choice.user and not choice.context:
        return find("cluster", choice.cluster), find("user", choice.user)
    context = find("context", choice.context or _current(configs)).values
    cluster, user = choice.cluster or context["cluster"], choice.user or context["user"]
    return find("cluster", cluster), find("user", user)


def _current(configs: list[tuple[dict[str, Any], Path]]) -> str:
    for each, _ in configs:
        if name := each.get("current-context"):
            return str(name)
    raise ValueError("no current-context")


def _files(path: Path) -> list[Path]:
    if path.exists():
        return [path]
    listed = [Path(each) for each in str(path).split(os.pathsep) if each]
    there = [each for each in listed if each.exists()]
    return there or [path]  # reading it says what is wrong


def _section_named(configs: list[tuple[dict[str, Any], Path]], kind: str, name: str) -> _Section:
    for config, beside in configs:
        for each in config.get(f"{kind}s") or ():
            if each["name"] == name:
                return _Section(each.get(kind) or {}, beside)
    raise ValueError(f"there is no {kind} {name!r}")


def _access(cluster: _Section, user: _Section, choice: Choice) -> Access:
    tls = _context(cluster)
    server = cluster.values["server"].rstrip("/")
    return Access(
        server,
        tls,
        _credentials(cluster, user, tls),
        cluster.values.get("tls-server-name", ""),
        _impersonation(
            choice.impersonated_user or user.values.get("as") or "",
            choice.impersonated_groups or user.values.get("as-groups") or (),
        ),
        _proxy(cluster, server),
    )


def _credentials(cluster: _Section, user: _Section, tls: ssl.SSLContext) -> str | Path | Renewed:
    """Return where the bearer token is from; a client certificate goes into *tls*."""
    token: str = user.values.get("token", "")
    certificate = user.content("client-certificate")
    if certificate is not None:
        load_pair(tls, certificate, user.content("client-key") or b"")
    if user.values.get("tokenFile"):
        return user.beside / str(user.values["tokenFile"])
    if token or certificate is not None:
        return token
    if user.values.get("exec"):
        plugin = parse_plugin(user.values["exec"], user.beside)
        return ExecCredentials(plugin, _exec_info_of(cluster), partial(load_pair, tls))
    if (user.values.get("auth-provider") or {}).get("name") == OIDC:
        return ProviderToken(cluster.values, user.values)
    for name, way in _REMOVED.items():
        if user.values.get(name):
            raise ValueError(f"Kubernetes no longer takes {way}; use exec, or a service account")
    return ""


@dataclass(slots=True)
class ProviderToken:
    """The token of an `auth-provider`, which the official client obtains and refreshes."""

    cluster: Mapping[str, Any]
    user: Mapping[str, Any]
    _token: str = ""

    def token(self) -> str:
        """Return the token that counts now. Raises `NoAccess`."""
        self._token = self._token or self._obtain()
        return self._token

    def forget(self) -> None:
        """Have it obtained again: the API server accepts it no longer."""
        self._token = ""

    def _obtain(self) -> str:
        from kubernetes import client, config  # noqa: PLC0415 - slow to load

        settings = client.Configuration()
        try:
            config.load_kube_config_from_dict(  # type: ignore[no-untyped-call]
                self._kubeconfig(), client_configuration=settings, persist_config=False
            )
        except Exception as error:
            # Whatever the provider's libraries raise; it may quote the credentials.
            kind = type(error).__name__
            raise NoAccess(f"the auth-provider gave no credentials: {kind}") from error
        token = settings.get_api_key_with_prefix("BearerToken", alias="authorization")
        if not token:
            raise NoAccess("the auth-provider gave no credentials; use exec, or a service account")
        return token.removeprefix("Bearer ")

    def _kubeconfig(self) -> dict[str, Any]:
        """Return a kubeconfig with nothing but the cluster and the user."""
        name = "chosen"
        return {
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "clusters": [{"name": name, "cluster": dict(self.cluster)}],
            "users": [{"name": name, "user": dict(self.user)}],
        }


def _proxy(cluster: _Section, server: str) -> str:
    """Return the proxy on the way to *server*: the kubeconfig's, else the environment's."""
    address = urlsplit(server)
    found: str = cluster.values.get("proxy-url", "")
    # As Go does: the environment's is not for this machine itself.
    if not found and not _is_loopback(address.hostname or "") and not proxy_bypass(address.netloc):
        found = getproxies_environment().get(address.scheme, "")
    if found and urlsplit(found).scheme not in {"http", "https"}:
        raise ValueError(f"the proxy {found} is not of HTTP")
    return found


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _context(cluster: _Section) -> ssl.SSLContext:
    authority = cluster.content("certificate-authority")
    tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.values.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    return tls


def _exec_info_of(cluster: _Section) -> dict[str, Any]:
    """Return what a program that gives credentials may know of the cluster."""
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
    told = {name: cluster.values[name] for name in names if cluster.values.get(name)}
    authority = cluster.content("certificate-authority")
    if authority is not None:
        told["certificate-authority-data"] = base64.b64encode(authority).decode()
    for each in cluster.values.get("extensions") or ():
        if each.get("name") == _EXTENSION:
            told["config"] = each.get("extension")
    return told


def _impersonation(user: str, groups: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the headers by which the user acts as somebody else."""
    headers = [("Impersonate-User", user)] if user else []
    return (*headers, *(("Impersonate-Group", group) for group in groups))


def load_pair(tls: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Give *tls* the pair; it takes files only, so they exist for just that moment."""
    with tempfile.TemporaryDirectory() as folder:
        # The folder is readable by its owner alone.
        Path(folder, "certificate").write_bytes(certificate)
        Path(folder, "key").write_bytes(key)
        tls.load_cert_chain(f"{folder}/certificate", f"{folder}/key")
