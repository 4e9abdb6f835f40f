"""A small client of the API server, for the few reads that the webhook makes.

The official client would cost every worker more memory and start-up time than the rest of the
program; what is needed here is a GET and a watch. It is used from threads, never on the hot path.
"""

import json
import os
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import urllib3

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

CONNECT_SECONDS: Final = 2.0
READ_SECONDS: Final = 2.0
WATCH_SECONDS: Final = 300
"""How long one watch lasts before it is begun anew; a connection that died is found by then."""


class ApiServerError(Exception):
    """The API server did not give what was asked for."""


class NotFound(ApiServerError):
    """It has no such object, or no such kind."""


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

    def __init__(self, access: Access) -> None:
        self._access = access
        self._pool = urllib3.PoolManager(ssl_context=access.tls, retries=False)

    def get(self, path: str, accept: str = "application/json") -> dict[str, Any]:
        """Return the object or list at *path*."""
        response = self._request(path, accept, READ_SECONDS, stream=False)
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
            raise ApiServerError(f"the watch of {path} broke: {error}") from error
        finally:
            response.close()

    def _request(
        self, path: str, accept: str, seconds: float, *, stream: bool
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": accept, "User-Agent": "glasswarden-webhook"}
        try:
            if token := self._token():
                headers["Authorization"] = f"Bearer {token}"
            response = self._pool.request(
                "GET",
                f"{self._access.server}{path}",
                headers=headers,
                timeout=urllib3.Timeout(CONNECT_SECONDS, seconds),
                preload_content=not stream,
            )
        except (OSError, urllib3.exceptions.HTTPError) as error:
            raise ApiServerError(f"{path}: {error}") from error
        if response.status != HTTPStatus.OK:
            response.close()
            failure = _FAILURES.get(response.status, ApiServerError)
            raise failure(f"{path}: HTTP {response.status}")
        return response

    def _token(self) -> str:
        token = self._access.token
        return token.read_text().strip() if isinstance(token, Path) else token


_FAILURES: Final[dict[int, type[ApiServerError]]] = {
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.GONE: Expired,
}


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(amt=None):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)
