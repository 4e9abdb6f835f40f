"""A small client of the API server, for the few requests that the programs make.

The official client would cost every worker more memory and start-up time than the rest of the
webhook; what is needed here is a GET, a watch and a rehearsed apply. It is used from threads, never
on the webhook's hot path, and it changes nothing in the cluster.
"""

import json
import os
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import urllib3

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

CONNECT_SECONDS: Final = 2.0
READ_SECONDS: Final = 2.0
CONNECTIONS: Final = 16
"""Connections that are kept for later: each watch takes one."""
LIST_SECONDS: Final = 60.0
"""What a page of a list may take; large clusters are slow to encode one."""
WATCH_SECONDS: Final = 300
"""How long one watch lasts before it is begun anew; a connection that died is found by then."""


class ApiServerError(Exception):
    """The API server did not give what was asked for."""


class NotFound(ApiServerError):
    """It has no such object, or no such kind."""


class Forbidden(ApiServerError):
    """We may not read it: ask for the right, or do without."""


class Unreachable(ApiServerError):
    """Nobody answered, or the connection broke."""


class Expired(ApiServerError):
    """The resource version is too old to watch from: list again."""


class NoAccess(ApiServerError):
    """Nothing says where the API server is, or how to prove who we are."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API server is, and how each proves itself to the other."""

    server: str
    tls: ssl.SSLContext
    token: str | Path = ""
    """A bearer token, or the file that holds it, read for each request: kubelet renews it."""


def access_in_cluster() -> Access:
    """Return the access that a pod's service account gives."""
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{name}", "") for name in ("HOST", "PORT"))
    if not host:
        raise NoAccess("not inside a cluster: KUBERNETES_SERVICE_HOST is not set")
    host = f"[{host}]" if ":" in host else host
    try:
        tls = ssl.create_default_context(cafile=_ACCOUNT / "ca.crt")
    except OSError as error:
        raise NoAccess(f"the service account's authority cannot be read: {error}") from error
    return Access(f"https://{host}:{port}", tls, _ACCOUNT / "token")


class ApiServer:
    """Reads from one API server. Safe to use from several threads."""

    def __init__(self, access: Access, user_agent: str = "glasswarden-webhook") -> None:
        self._access = access
        self._user_agent = user_agent
        self._pool = urllib3.PoolManager(ssl_context=access.tls, retries=False, maxsize=CONNECTIONS)

    def get(self, path: str, accept: str = "application/json") -> dict[str, Any]:
        """Return the object or list at *path*."""
        decoded: dict[str, Any] = json.loads(self.fetch(path, accept, READ_SECONDS))
        return decoded

    def fetch(
        self, path: str, accept: str = "application/json", seconds: float = LIST_SECONDS
    ) -> bytes:
        """Return what stands at *path*, not decoded."""
        return self._request(path, accept, seconds, stream=False).data

    def rehearse_apply(self, path: str, manifest: dict[str, Any], manager: str) -> dict[str, Any]:
        """Return what *path* would hold had *manager* applied *manifest*; nothing is stored."""
        response = self._request(
            f"{path}?dryRun=All&force=true&fieldManager={quote(manager)}",
            "application/json",
            LIST_SECONDS,
            stream=False,
            body=json.dumps(manifest).encode(),
        )
        decoded: dict[str, Any] = json.loads(response.data)
        return decoded

    def watch(self, path: str, version: str, accept: str) -> Iterator[dict[str, Any]]:
        """Yield the events at *path* since resource version *version*, until the server ends it."""
        separator = "&" if "?" in path else "?"
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}"
        url = f"{path}{separator}{query}&resourceVersion={version}"
        response = self._request(url, accept, WATCH_SECONDS + READ_SECONDS, stream=True)
        try:
            for line in _lines(response):
                yield json.loads(line)
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"the watch of {path} broke: {error}") from error
        finally:
            response.close()

    def _request(
        self, path: str, accept: str, seconds: float, *, stream: bool, body: bytes | None = None
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": accept, "User-Agent": self._user_agent}
        if body is not None:
            headers["Content-Type"] = "application/apply-patch+yaml"
        try:
            if token := self._token():
                headers["Authorization"] = f"Bearer {token}"
            response = self._pool.request(
                "GET" if body is None else "PATCH",
                f"{self._access.server}{path}",
                headers=headers,
                body=body,
                timeout=urllib3.Timeout(CONNECT_SECONDS, seconds),
                preload_content=not stream,
            )
        except (OSError, urllib3.exceptions.HTTPError) as error:
            raise Unreachable(f"{path}: {error}") from error
        if response.status != HTTPStatus.OK:
            response.close()
            failure = _FAILURES.get(response.status, ApiServerError)
            raise failure(f"{path}: HTTP {response.status}")
        return response

    def _token(self) -> str:
        token = self._access.token
        return token.read_text().strip() if isinstance(token, Path) else token


_FAILURES: Final[dict[int, type[ApiServerError]]] = {
    HTTPStatus.UNAUTHORIZED: Forbidden,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.GONE: Expired,
}


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(amt=None):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)
