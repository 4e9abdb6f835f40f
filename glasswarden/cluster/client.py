"""A small client of the API server, for the few requests that the programs make.

The official client would cost every worker more memory and start-up time than the rest of the
webhook; what is needed here is a GET, a watch, a rehearsed apply, and for Events a POST and a merge
patch. It is used from threads, never on the webhook's hot path.
"""

import json
import os
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote

import urllib3
from urllib3 import HTTPHeaderDict

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

CONNECT_SECONDS: Final = 2.0
READ_SECONDS: Final = 2.0
CONNECTIONS: Final = 16
"""Connections that are kept for later: each watch takes one."""
LIST_SECONDS: Final = 60.0
"""What a page of a list may take; large clusters are slow to encode one."""
WATCH_SECONDS: Final = 300
"""How long one watch lasts before it is begun anew."""
WATCH_IDLE_SECONDS: Final = 75
"""How long a watch may say nothing: the API server sends a bookmark every minute, so a connection
that died without a word is found by then."""


class ApiServerError(Exception):
    """The API server did not give what was asked for."""


class NotFound(ApiServerError):
    """It has no such object, or no such kind."""


class Forbidden(ApiServerError):
    """We may not read it: ask for the right, or do without."""


class Unreachable(ApiServerError):
    """Nobody answered, or the connection broke."""


class AlreadyThere(ApiServerError):
    """An object of that name exists."""


class Expired(ApiServerError):
    """The resource version is too old to watch from: list again."""


class NoAccess(ApiServerError):
    """Nothing says where the API server is, or how to prove who we are."""


class Renewed(Protocol):
    """A token that is renewed by whoever gives it."""

    def token(self) -> str:
        """Return the token that counts now. Raises `NoAccess`."""

    def forget(self) -> None:
        """Have it renewed: the API server takes it no longer."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API server is, and how each proves itself to the other."""

    server: str
    tls: ssl.SSLContext
    token: str | Path | Renewed = ""
    """A bearer token, or the file that holds it, read for each request: kubelet renews it."""

    server_name: str = ""
    """The name in the server's certificate, where it is not that of its address."""

    headers: tuple[tuple[str, str], ...] = ()
    """What else each request says: whom to impersonate."""


def access_in_cluster(headers: tuple[tuple[str, str], ...] = ()) -> Access:
    """Return the access that a pod's service account gives; each request has *headers*."""
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{name}", "") for name in ("HOST", "PORT"))
    if not host:
        raise NoAccess("not inside a cluster: KUBERNETES_SERVICE_HOST is not set")
    host = f"[{host}]" if ":" in host else host
    try:
        tls = ssl.create_default_context(cafile=_ACCOUNT / "ca.crt")
    except OSError as error:
        raise NoAccess(f"the service account's authority cannot be read: {error}") from error
    return Access(f"https://{host}:{port}", tls, _ACCOUNT / "token", headers=headers)


class ApiServer:
    """Talks to one API server. Safe to use from several threads."""

    def __init__(
        self,
        access: Access,
        user_agent: str = "glasswarden-webhook",
        decode: Callable[[bytes], Any] = json.loads,
    ) -> None:
        """Talk by *access*; *decode* reads JSON, and raises `ValueError` or `RecursionError`."""
        self._access = access
        self._user_agent = user_agent
        self._decode = decode
        name = access.server_name
        named: dict[str, Any] = {"server_hostname": name, "assert_hostname": name} if name else {}
        self._pool = urllib3.PoolManager(
            ssl_context=access.tls,
            retries=False,
            maxsize=CONNECTIONS,
            **named,
        )

    def get(self, path: str, accept: str = "application/json") -> dict[str, Any]:
        """Return the object or list at *path*."""
        return self._object_in(self.fetch(path, accept, READ_SECONDS), path)

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
            sends=_Sent("PATCH", "application/apply-patch+yaml", manifest),
        )
        return self._object_in(response.data, path)

    def create(self, path: str, manifest: dict[str, Any]) -> None:
        """Create *manifest* in the collection at *path*; raise `AlreadyThere` if there is one."""
        sends = _Sent("POST", "application/json", manifest)
        self._request(path, "application/json", READ_SECONDS, stream=False, sends=sends)

    def merge(self, path: str, patch: dict[str, Any]) -> None:
        """Merge *patch* into the object at *path* (RFC 7396)."""
        sends = _Sent("PATCH", "application/merge-patch+json", patch)
        self._request(path, "application/json", READ_SECONDS, stream=False, sends=sends)

    def watch(
        self, path: str, version: str, accept: str, seconds: int = WATCH_SECONDS
    ) -> Iterator[dict[str, Any]]:
        """Yield the events at *path* since resource version *version*, until the server ends it.

        A watch over which nothing comes any more ends likewise: whoever begins it anew finds out
        whether the server is still there.
        """
        separator = "&" if "?" in path else "?"
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}"
        url = f"{path}{separator}{query}&resourceVersion={version}"
        idle = min(seconds + READ_SECONDS, WATCH_IDLE_SECONDS)
        response = self._request(url, accept, idle, stream=True)
        try:
            for line in _lines(response):
                yield self._object_in(line, path)
        except urllib3.exceptions.ReadTimeoutError:
            return
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"the watch of {path} broke: {error}") from error
        finally:
            response.close()

    def _object_in(self, body: bytes, path: str) -> dict[str, Any]:
        try:
            decoded = self._decode(body)
        except ValueError as error:
            raise ApiServerError(f"{path}: not JSON") from error
        except RecursionError as error:
            raise ApiServerError(f"{path}: nested too deep") from error
        if not isinstance(decoded, dict):
            raise ApiServerError(f"{path}: not an object")
        return decoded

    def _request(
        self, path: str, accept: str, seconds: float, *, stream: bool, sends: "_Sent | None" = None
    ) -> urllib3.BaseHTTPResponse:
        response = self._sent(path, accept, seconds, stream=stream, sends=sends)
        token = self._access.token
        if response.status == HTTPStatus.UNAUTHORIZED and not isinstance(token, str | Path):
            response.close()
            token.forget()
            response = self._sent(path, accept, seconds, stream=stream, sends=sends)
        if response.status not in {HTTPStatus.OK, HTTPStatus.CREATED}:
            response.close()
            failure = _FAILURES.get(response.status, ApiServerError)
            raise failure(f"{path}: HTTP {response.status}")
        return response

    def _sent(
        self, path: str, accept: str, seconds: float, *, stream: bool, sends: "_Sent | None"
    ) -> urllib3.BaseHTTPResponse:
        """Return the answer, whatever it is."""
        headers = HTTPHeaderDict({"Accept": accept, "User-Agent": self._user_agent})
        headers.extend(self._access.headers)
        if sends is not None:
            headers["Content-Type"] = sends.content_type
        try:
            if token := self._token():
                headers["Authorization"] = f"Bearer {token}"
            return self._pool.request(
                sends.method if sends else "GET",
                f"{self._access.server}{path}",
                headers=headers,
                body=json.dumps(sends.body).encode() if sends else None,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=seconds),
                preload_content=not stream,
            )
        except (OSError, urllib3.exceptions.HTTPError) as error:
            raise Unreachable(f"{path}: {error}") from error

    def _token(self) -> str:
        match self._access.token:
            case str(token):
                return token
            case Path() as file:
                return file.read_text().strip()
            case renewed:
                return renewed.token()


class _Sent(NamedTuple):
    """What a request carries, and what for."""

    method: str
    content_type: str
    body: dict[str, Any]


_FAILURES: Final[dict[int, type[ApiServerError]]] = {
    HTTPStatus.UNAUTHORIZED: Forbidden,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: AlreadyThere,
    HTTPStatus.GONE: Expired,
}


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(amt=None):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)
