"""The client of the API server, for all programs and commands.

It sends and returns plain dictionaries, and adds nothing to the requests but who sends them. What
fails is an `ApiServerError` that is named for what the caller should do; exceptions of libraries
stop here. Safe to use from several threads; never used on the webhook's hot path.

Importing the official client would add 0.26 s and 17 MB, which each call of a kubectl
plugin and each worker of the webhook would pay: see docs/adr/0034-one-client-for-all.md.
"""

import json
import os
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlencode

import urllib3
from urllib3 import HTTPHeaderDict

from glasswarden.kube.objects import Object

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

MANAGER: Final = "glasswarden"
"""The field manager of what the product itself applies."""
CONNECTIONS: Final = 16
"""Connections that are kept for later: each watch takes one."""
_JSON: Final = "application/json"
_TEXT: Final = "text/plain, */*"
_JSON_PATCH: Final = "application/json-patch+json"
_MERGE_PATCH: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"

LIST_SECONDS: Final = 60.0
"""What a page of a list may take; large clusters are slow to encode one."""
WATCH_SECONDS: Final = 300
"""How long one watch lasts before it is begun anew."""
WATCH_IDLE_SECONDS: Final = 75
"""How long a watch may say nothing: the API server sends a bookmark every minute, so a connection
that died without a word is found by then."""


class ApiServerError(Exception):
    """The API server did not do what was asked."""


class NotFound(ApiServerError):
    """It has no such object, or no such kind."""


class Forbidden(ApiServerError):
    """RBAC, or an admission plug-in, denies it: ask for the right, or do without."""


class Conflict(ApiServerError):
    """Somebody else wrote, or created, the object first: read it again."""


class Invalid(ApiServerError):
    """What was sent makes no valid object, or the `test` of a patch failed."""


class Expired(ApiServerError):
    """The resource version is too old to watch from: list again."""


class Unreachable(ApiServerError):
    """Nobody answered, or the connection broke."""


class NoAccess(ApiServerError):
    """Nothing says where the API server is, or how to prove who we are."""


class Patience(NamedTuple):
    """How long a request may take, and how often a connection is tried again."""

    connect: float
    """Seconds until there is a connection."""
    read: float
    """Seconds until there is an answer; of a list or a watch, see below."""
    retries: int


BRIEF: Final = Patience(2.0, 2.0, 0)
"""For the webhook, and whoever else has something better to do than to wait."""
LONG: Final = Patience(5.0, 30.0, 3)
"""For commands, and programs that change something."""


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

    proxy: str = ""
    """The HTTP proxy on the way, if there is one."""


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
        patience: Patience = BRIEF,
    ) -> None:
        """Talk by *access*; *decode* reads JSON, and raises `ValueError` or `RecursionError`."""
        self._access = access
        self._user_agent = user_agent
        self._decode = decode
        self._patience = patience
        self._pool = _pool_for(access, patience)

    @property
    def address(self) -> str:
        """Where the API server is."""
        return self._access.server

    def get(self, path: str, accept: str = _JSON) -> Object:
        """Return the object or list at *path*."""
        return self._object_in(self.fetch(path, accept, self._patience.read), path)

    def get_or_none(self, path: str) -> Object | None:
        """Return the object at *path* if there is one."""
        try:
            return self.get(path)
        except NotFound:
            return None

    def fetch(self, path: str, accept: str = _JSON, seconds: float = LIST_SECONDS) -> bytes:
        """Return what stands at *path*, not decoded."""
        return self._request(_Request("GET", path, accept=accept), seconds).data

    def text(self, path: str) -> str:
        """Return what stands at *path*, which is no object: a log, the metrics of a pod."""
        return self.fetch(path, _TEXT, self._patience.read).decode(errors="replace")

    def time(self) -> datetime:
        """Return what the API server's clock shows, to the second."""
        answer = self._request(_Request("GET", "/version"), self._patience.read)
        try:
            return parsedate_to_datetime(answer.headers.get("Date", "")).astimezone(UTC)
        except ValueError as error:
            raise ApiServerError("/version: the answer has no date") from error

    def create(self, path: str, manifest: Object) -> Object:
        """Create *manifest* in the collection at *path*; raise `Conflict` if there is one."""
        return self._send(_Request("POST", path, body=manifest))

    def rehearse_create(self, path: str, manifest: Object) -> list[str]:
        """Create *manifest* as a dry run, which changes nothing; return the warnings it earned."""
        request = _Request("POST", path, body=manifest, query={"dryRun": "All"})
        answer = self._request(request, self._patience.read)
        return [_text_of(warning) for warning in answer.headers.getlist("Warning")]

    def replace(self, path: str, manifest: Object) -> Object:
        """Replace the object at *path*; with a resourceVersion, only if it still has that one."""
        return self._send(_Request("PUT", path, body=manifest))

    def merge(self, path: str, patch: Object) -> Object:
        """Merge *patch* into the object at *path* (RFC 7396)."""
        return self._send(_Request("PATCH", path, _MERGE_PATCH, patch))

    def patch(self, path: str, operations: list[Object]) -> Object:
        """Apply a JSON patch; one whose `test` fails changes nothing and raises `Invalid`."""
        return self._send(_Request("PATCH", path, _JSON_PATCH, operations))

    def apply(self, path: str, manifest: Object, *, dry_run: bool = False) -> Object:
        """Apply *manifest* server-side, taking our fields over from whoever had them."""
        query = {"fieldManager": MANAGER, "force": "true", "fieldValidation": "Strict"}
        query |= {"dryRun": "All"} if dry_run else {}
        return self._send(_Request("PATCH", path, _APPLY, manifest, query))

    def rehearse_apply(self, path: str, manifest: Object, manager: str) -> Object:
        """Return what *path* would hold had *manager* applied *manifest*; nothing is stored."""
        query = {"dryRun": "All", "force": "true", "fieldManager": manager}
        # Why somebody else's object is invalid may quote its values, which are not ours to show.
        request = _Request("PATCH", path, _APPLY, manifest, query, explains=False)
        return self._object_in(self._request(request, LIST_SECONDS).data, path)

    def delete(self, path: str) -> bool:
        """Delete the object at *path*; return whether there was one."""
        try:
            self._request(_Request("DELETE", path), self._patience.read)
        except NotFound:
            return False
        return True

    def watch(
        self, path: str, version: str, accept: str, seconds: int = WATCH_SECONDS
    ) -> Iterator[dict[str, Any]]:
        """Yield the events at *path* since resource version *version*, until the server ends it.

        A watch over which nothing comes any more ends likewise: whoever begins it anew finds out
        whether the server is still there.
        """
        query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        request = _Request("GET", path, query=query | {"resourceVersion": version}, accept=accept)
        idle = min(seconds + self._patience.read, WATCH_IDLE_SECONDS)
        response = self._request(request, idle, stream=True)
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

    def _send(self, request: "_Request") -> Object:
        return self._object_in(self._request(request, self._patience.read).data, request.path)

    def _request(
        self, request: "_Request", seconds: float, *, stream: bool = False
    ) -> urllib3.BaseHTTPResponse:
        """Return the answer; raise what it means where it is an error."""
        response = self._exchange(request, seconds, stream=stream)
        token = self._access.token
        if response.status == HTTPStatus.UNAUTHORIZED and not isinstance(token, str | Path):
            response.close()
            token.forget()
            response = self._exchange(request, seconds, stream=stream)
        if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            raise _failure_of(request, response)
        return response

    def _exchange(
        self, request: "_Request", seconds: float, *, stream: bool
    ) -> urllib3.BaseHTTPResponse:
        """Return the answer, whatever it is."""
        headers = HTTPHeaderDict({"Accept": request.accept, "User-Agent": self._user_agent})
        headers.extend(self._access.headers)
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        try:
            if token := self._token():
                headers["Authorization"] = f"Bearer {token}"
            return self._pool.request(
                request.method,
                f"{self._access.server}{request.url}",
                headers=headers,
                body=None if request.body is None else json.dumps(request.body).encode(),
                timeout=urllib3.Timeout(connect=self._patience.connect, read=seconds),
                preload_content=not stream,
            )
        except (OSError, urllib3.exceptions.HTTPError) as error:
            raise Unreachable(f"{self._access.server}{request.path}: {error}") from error

    def _token(self) -> str:
        match self._access.token:
            case str(token):
                return token
            case Path() as file:
                return file.read_text().strip()
            case renewed:
                return renewed.token()


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked for."""

    method: str
    path: str
    content_type: str = _JSON
    body: Object | list[Object] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = _JSON
    explains: bool = True
    """Whether an error may quote what the API server says about it."""

    @property
    def url(self) -> str:
        """The path with the query."""
        separator = "&" if "?" in self.path else "?"
        return f"{self.path}{separator}{urlencode(self.query)}" if self.query else self.path


def _pool_for(access: Access, patience: Patience) -> urllib3.PoolManager:
    name = access.server_name
    settings: dict[str, Any] = {"server_hostname": name, "assert_hostname": name} if name else {}
    settings |= {
        "ssl_context": access.tls,
        "retries": patience.retries or False,
        "maxsize": CONNECTIONS,
    }
    if access.proxy:
        return urllib3.ProxyManager(access.proxy, **settings)
    return urllib3.PoolManager(**settings)


_FAILURES: Final[dict[int, type[ApiServerError]]] = {
    HTTPStatus.UNAUTHORIZED: Forbidden,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Expired,
    HTTPStatus.UNPROCESSABLE_ENTITY: Invalid,
}


def _failure_of(request: _Request, response: urllib3.BaseHTTPResponse) -> ApiServerError:
    """Return the error that *response* stands for, which ends with it."""
    reason = f"HTTP {response.status}"
    if request.explains:
        reason = _message_in(response) or reason
    response.close()
    failure = _FAILURES.get(response.status, ApiServerError)
    return failure(f"{request.method} {request.path}: {reason}")


def _message_in(response: urllib3.BaseHTTPResponse) -> str:
    """Return what the Status in *response* says; empty where it has none."""
    try:
        return str(json.loads(response.data).get("message", ""))
    except (ValueError, AttributeError, RecursionError, urllib3.exceptions.HTTPError):
        return ""


def _text_of(warning: str) -> str:
    """Return the text of a header such as `299 - "deprecated"`."""
    found = re.search(r'"(.*)"', warning)
    return found[1] if found else warning


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(amt=None):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)
