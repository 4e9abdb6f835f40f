"""Write kubeconfigs that stand alone: certificates and tokens inside, no other file needed."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.cluster.pki import KeyPair, write_secret


def certificate_user(pair: KeyPair) -> dict[str, str]:
    return {
        "client-certificate-data": _base64(pair.certificate),
        "client-key-data": _base64(pair.key),
    }


def token_user(token: str) -> dict[str, str]:
    return {"token": token}


def write_kubeconfig(
    path: Path, *, server: str, authority: bytes, name: str, user: dict[str, str]
) -> Path:
    """Write to *path* how *name*, proving itself with *user*, reaches *server*."""
    context = {"cluster": "glasswarden-test", "user": name, "namespace": namespace_of(name)}
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "glasswarden-test",
                "cluster": {"server": server, "certificate-authority-data": _base64(authority)},
            }
        ],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    # JSON is YAML, and needs no library to write.
    write_secret(path, json.dumps(document, indent=2).encode())
    return path


def namespace_of(user: str) -> str:
    """Return the namespace in which *user* is at home, as for a service account in a pod."""
    service_account = user.removeprefix("system:serviceaccount:")
    return "default" if service_account == user else service_account.partition(":")[0]


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
