"""Reading kubeconfigs, for a program that runs outside the cluster it works on.

Certificates, keys and tokens count, inline, as files, or as a program gives them. Several files are
merged as kubectl merges them: who says something first is believed.
"""

import base64
import os
import ssl
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from glasswarden.cluster.apiserver import Access, NoAccess
from glasswarden.cluster.exec_credentials import ExecCredentials, parse_plugin

_EXTENSION: Final = "client.authentication.k8s.io/exec"
"""The extension of a cluster that is meant for programs which give credentials."""

_UNSAID: Final[dict[str, str]] = {"username": "a password", "auth-provider": "an auth-provider"}
"""Ways to prove oneself that Kubernetes has given up."""


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


def access_from(path: Path) -> Access:
    """Return the access that the current context gives.

    *path* is a kubeconfig or, as in $KUBECONFIG, several of them, of which some may be missing.
    """
    try:
        return _access(*_current(path))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoAccess(f"{path} is no kubeconfig that can be used: {error}") from error


def _current(path: Path) -> tuple[_Section, _Section]:
    """Return the cluster and the user of the current context."""
    files = _files(path)
    configs = [(yaml.safe_load(file.read_text()) or {}, file.parent) for file in files]
    current = next((name for each, _ in configs if (name := each.get("current-context"))), None)
    if current is None:
        raise ValueError("no current-context")
    find = partial(_named, configs)
    context = find("context", current).values
    return find("cluster", context["cluster"]), find("user", context["user"])


def _files(path: Path) -> list[Path]:
    if path.exists():
        return [path]
    listed = [Path(each) for each in str(path).split(os.pathsep) if each]
    there = [each for each in listed if each.exists()]
    return there or [path]  # reading it says what is wrong


def _named(configs: list[tuple[dict[str, Any], Path]], kind: str, name: str) -> _Section:
    for config, beside in configs:
        for each in config.get(f"{kind}s") or ():
            if each["name"] == name:
                return _Section(each.get(kind) or {}, beside)
    raise ValueError(f"there is no {kind} {name!r}")


def _access(cluster: _Section, user: _Section) -> Access:
    tls = _context(cluster)
    server = cluster.values["server"].rstrip("/")
    token: str | Path | ExecCredentials = user.values.get("token", "")
    certificate = user.content("client-certificate")
    if certificate is not None:
        load_pair(tls, certificate, user.content("client-key") or b"")
    if user.values.get("tokenFile"):
        token = user.beside / user.values["tokenFile"]
    elif user.values.get("exec") and not token and certificate is None:
        plugin = parse_plugin(user.values["exec"], user.beside)
        token = ExecCredentials(plugin, _told(cluster), partial(load_pair, tls))
    elif gone := next((way for name, way in _UNSAID.items() if user.values.get(name)), ""):
        raise ValueError(f"Kubernetes no longer takes {gone}; use exec, or a service account")
    name = cluster.values.get("tls-server-name", "")
    return Access(server, tls, token, name, _impersonation(user.values))


def _context(cluster: _Section) -> ssl.SSLContext:
    authority = cluster.content("certificate-authority")
    tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.values.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    return tls


def _told(cluster: _Section) -> dict[str, Any]:
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


def _impersonation(user: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the headers by which the user acts as somebody else."""
    headers = [("Impersonate-User", user["as"])] if user.get("as") else []
    headers += [("Impersonate-Group", group) for group in user.get("as-groups") or ()]
    return tuple(headers)


def load_pair(tls: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Give *tls* the pair; it takes files only, so they exist for just that moment."""
    with tempfile.TemporaryDirectory() as folder:
        # The folder is readable by its owner alone.
        Path(folder, "certificate").write_bytes(certificate)
        Path(folder, "key").write_bytes(key)
        tls.load_cert_chain(f"{folder}/certificate", f"{folder}/key")
