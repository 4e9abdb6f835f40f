"""A client for tests that write a great deal: one connection, not a kubectl for each write."""

import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import urllib3

from glasswarden.cluster.client import LONG, ApiServer
from glasswarden.cluster.discovery import Resource, Served, served_by
from glasswarden.cluster.kubeconfig import access_from
from glasswarden.kube.objects import Object, ref_of
from tests.cluster.kubectl import Caller

APPLY: Final = "application/apply-patch+yaml"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"


class WriteFailed(Exception):
    """The API server refused a write that a test takes for granted."""


def api_server(kubeconfig: Path) -> ApiServer:
    """Return the API server as the programs that write talk to it."""
    return ApiServer(access_from(kubeconfig), "tests", patience=LONG)


class Api:
    """Writes as one caller."""

    def __init__(self, caller: Caller) -> None:
        self._access = access_from(caller.kubeconfig)
        self._pool = urllib3.PoolManager(ssl_context=self._access.tls, retries=False)
        self.server = ApiServer(self._access, "tests")
        self.served: Served = served_by(self.server)

    def resource_of(self, obj: Object) -> Resource:
        ref = ref_of(obj)
        return self.served.resources[ref.group, ref.version, ref.kind]

    def apply(self, obj: Object, manager: str) -> None:
        """Apply *obj* server-side, by force."""
        self._write("PATCH", obj, {"fieldManager": manager, "force": "true"}, APPLY, obj)

    def patch(self, obj: Object, patch: Any, manager: str, form: str = JSON_PATCH) -> None:  # noqa: ANN401
        """Change *obj* as it is by *patch*, as `kubectl edit` and its like do."""
        self._write("PATCH", obj, {"fieldManager": manager}, form, patch)

    def delete(self, obj: Object) -> None:
        """Delete *obj*."""
        self._write("DELETE", obj, {"propagationPolicy": "Background"}, "application/json", {})

    def get(self, obj: Object) -> Object | None:
        """Return *obj* as it is, if it is there."""
        ref = ref_of(obj)
        url = f"{self._access.server}{self.resource_of(obj).url(ref.namespace, ref.name)}"
        response = self._pool.request("GET", url, headers=self._headers())
        found: Object | None = response.json() if response.status == 200 else None
        return found

    def _write(self, method: str, obj: Object, query: dict[str, str], form: str, body: Any) -> None:  # noqa: ANN401
        ref = ref_of(obj)
        path = self.resource_of(obj).url(ref.namespace, ref.name)
        response = self._pool.request(
            method,
            f"{self._access.server}{path}?{urlencode(query)}",
            headers={**self._headers(), "Content-Type": form},
            body=json.dumps(body).encode(),
        )
        if response.status >= 300:
            raise WriteFailed(f"{method} {path}: {response.data.decode()[:2000]}")

    def _headers(self) -> dict[str, str]:
        token = self._access.token
        return {"Authorization": f"Bearer {token}"} if token else {}
