"""Reading a kubeconfig, for a program that runs outside the cluster it works on.

Certificates, keys and tokens count, inline or as files. A kubeconfig that runs a program for its
credentials is refused with a sentence: a server needs credentials that last.
"""

import base64
import ssl
import tempfile
from pathlib import Path
from typing import Any

import yaml

from glasswarden.cluster.apiserver import Access, NoAccess


def access_from(path: Path) -> Access:
    """Return the access that the current context of the kubeconfig at *path* gives."""
    try:
        config = yaml.safe_load(path.read_text())
        context = _named(config, "contexts", config["current-context"])["context"]
        cluster = _named(config, "clusters", context["cluster"])["cluster"]
        user = _named(config, "users", context["user"])["user"]
        return _access(cluster, user, path.parent)
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise NoAccess(f"{path} is no kubeconfig that can be used: {error}") from error


def _named(config: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    for each in config[section]:
        if each["name"] == name:
            found: dict[str, Any] = each
            return found
    raise KeyError(f"{section} has no {name!r}")


def _access(cluster: dict[str, Any], user: dict[str, Any], beside: Path) -> Access:
    if "exec" in user or "auth-provider" in user:
        raise ValueError("it runs a program for its credentials; use a service account's token")
    authority = _content(cluster, "certificate-authority", beside)
    tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
    certificate = _content(user, "client-certificate", beside)
    if certificate is not None:
        _load_pair(tls, certificate, _content(user, "client-key", beside) or b"")
    token = beside / user["tokenFile"] if "tokenFile" in user else user.get("token", "")
    return Access(cluster["server"].rstrip("/"), tls, token)


def _content(section: dict[str, Any], name: str, beside: Path) -> bytes | None:
    """Return what stands inline, or in the file that is named, or nothing."""
    if inline := section.get(f"{name}-data"):
        return base64.b64decode(inline, validate=True)
    return (beside / section[name]).read_bytes() if name in section else None


def _load_pair(tls: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Give *tls* the pair; it takes files only, so they exist for just that moment."""
    with tempfile.TemporaryDirectory() as folder:
        # The folder is readable by its owner alone.
        Path(folder, "certificate").write_bytes(certificate)
        Path(folder, "key").write_bytes(key)
        tls.load_cert_chain(f"{folder}/certificate", f"{folder}/key")
