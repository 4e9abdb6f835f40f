"""Reading and writing a cluster's objects, as plain dictionaries, through the official client.

For programs that change something and for people's commands: the official client knows every kind
of kubeconfig, those that run a program for their credentials too. It takes half a second and 35 MB
to load, so it is loaded when a cluster is opened, and the webhook's processes do without it.
"""

import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import urllib3

from glasswarden import __version__

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

MANAGER: Final = "glasswarden"
SECONDS: Final = (5.0, 30.0)
"""How long to wait for a connection, and for an answer."""

Object = dict[str, Any]

_JSON: Final = "application/json"
_TEXT: Final = "text/plain, */*"
_JSON_PATCH: Final = "application/json-patch+json"
_APPLY: Final = "application/apply-patch+yaml"


class ClusterError(Exception):
    """The API server did not do what was asked."""


class ClusterUnreachable(ClusterError):
    """There is no API server there, or no way to it."""


class ObjectMissing(ClusterError):
    """It has no such object, or no such kind."""


class ObjectChanged(ClusterError):
    """Somebody else wrote, or created, the object first: read it again."""


class Invalid(ClusterError):
    """What was sent makes no valid object, or the `test` of a patch failed."""


class Forbidden(ClusterError):
    """RBAC, or an admission plug-in, does not let us."""


class Objects:
    """The objects of one cluster. Use it from one thread."""

    def __init__(self, api: "ApiClient", failures: tuple[type[Exception], ...]) -> None:
        self._api = api
        self._failures: tuple[type[Exception], ...] = (
            OSError,
            urllib3.exceptions.HTTPError,
            *failures,
        )
        api.user_agent = f"glasswarden/{__version__}"

    @property
    def server(self) -> str:
        """Where the API server is."""
        address: str = self._api.configuration.host
        return address

    def get(self, path: str) -> Object:
        """Return the object, or the list, at *path*."""
        return self._ask("GET", path).body

    def text(self, path: str) -> str:
        """Return what stands at *path*, which is no object: a log, the figures of a pod."""
        return self._ask("GET", path, accept=_TEXT).text

    def get_or_none(self, path: str) -> Object | None:
        """Return the object at *path* if there is one."""
        try:
            return self.get(path)
        except ObjectMissing:
            return None

    def create(self, path: str, body: Object) -> Object:
        """Create *body* in the collection at *path*."""
        return self._ask("POST", path, body).body

    def rehearse(self, path: str, body: Object) -> list[str]:
        """Create *body* as a dry run, which changes nothing; return the warnings it earned."""
        return self._ask("POST", path, body, query={"dryRun": "All"}).warnings

    def replace(self, path: str, body: Object) -> Object:
        """Replace the object at *path*; with a resourceVersion, only if it still has that one."""
        return self._ask("PUT", path, body).body

    def patch(self, path: str, operations: list[Object]) -> Object:
        """Apply a JSON patch; one whose `test` fails changes nothing and raises."""
        return self._ask("PATCH", path, operations, content_type=_JSON_PATCH).body

    def apply(self, path: str, body: Object, *, dry_run: bool = False) -> Object:
        """Apply *body* server-side, taking our fields over from whoever had them."""
        query = {"fieldManager": MANAGER, "force": "true", "fieldValidation": "Strict"}
        query |= {"dryRun": "All"} if dry_run else {}
        return self._ask("PATCH", path, body, content_type=_APPLY, query=query).body

    def delete(self, path: str) -> bool:
        """Delete the object at *path*; tell whether there was one."""
        try:
            self._ask("DELETE", path)
        except ObjectMissing:
            return False
        return True

    def time(self) -> datetime:
        """Return what the API server's clock shows, to the second."""
        return parsedate_to_datetime(self._ask("GET", "/version").date).astimezone(UTC)

    def _ask(
        self,
        method: str,
        path: str,
        body: Object | list[Object] | None = None,
        *,
        content_type: str = _JSON,
        query: dict[str, str] | None = None,
        accept: str = _JSON,
    ) -> "_Answer":
        headers = {"Accept": accept, "Content-Type": content_type}
        try:
            request = self._api.param_serialize(
                method,
                path,
                query_params=list((query or {}).items()),
                header_params=headers,
                body=body,
                auth_settings=["BearerToken"],
            )
            response = self._api.call_api(*request, _request_timeout=SECONDS)
            response.read()  # type: ignore[no-untyped-call]
        except self._failures as error:
            raise ClusterUnreachable(f"{self.server}: {error}") from error
        return _answer(f"{method} {path}", response)


class _Answer(NamedTuple):
    content: bytes
    date: str
    warnings: list[str]

    @property
    def body(self) -> Object:
        try:
            decoded = json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise ClusterError("what the API server sent cannot be read as JSON") from error
        if not isinstance(decoded, dict):
            raise ClusterError("what the API server sent is no object")
        return decoded

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")


def objects_from(kubeconfig: Path | None, context: str | None = None) -> Objects:
    """Return the cluster that *kubeconfig* is about.

    Without one: the cluster that we run in, else the one that kubectl would talk to.
    """
    from kubernetes import client, config  # noqa: PLC0415 - see above

    def in_cluster() -> "ApiClient | None":
        settings = client.Configuration()
        try:
            config.load_incluster_config(settings)  # type: ignore[no-untyped-call]
        except config.ConfigException:
            return None
        return client.ApiClient(settings)

    try:
        api = None if kubeconfig else in_cluster()
        if api is None:
            file = None if kubeconfig is None else str(kubeconfig)
            api = config.new_client_from_config(file, context)  # type: ignore[no-untyped-call]
    except (config.ConfigException, OSError, ValueError, TypeError) as error:
        raise ClusterUnreachable(f"no cluster is known: {error}") from error
    return Objects(api, (client.exceptions.OpenApiException,))


def _answer(request: str, response: Any) -> _Answer:  # noqa: ANN401 - the client ships no types
    status, content = response.status, response.data or b"{}"
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        headers = response.getheaders()
        warnings = [_warning(text) for text in headers.getlist("Warning")]
        return _Answer(content, headers.get("Date", ""), warnings)
    failure = _FAILURES.get(status, ClusterError)
    raise failure(f"{request}: {_reason(status, content)}")


_FAILURES: Final[dict[int, type[ClusterError]]] = {
    HTTPStatus.NOT_FOUND: ObjectMissing,
    HTTPStatus.CONFLICT: ObjectChanged,
    HTTPStatus.UNPROCESSABLE_ENTITY: Invalid,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.UNAUTHORIZED: Forbidden,
}


def _reason(status: int, content: bytes) -> str:
    try:
        said = json.loads(content).get("message", "")
    except (ValueError, AttributeError, RecursionError):
        said = ""
    return said or f"HTTP {status}"


def _warning(header: str) -> str:
    """Return the text of a header such as `299 - "told you so"`."""
    found = re.search(r'"(.*)"', header)
    return found[1] if found else header
