"""Certificates in a Secret, for a webhook in pods that mount it."""

import base64
from dataclasses import dataclass, field
from typing import Final

from certs.files import CALLER_TOKEN, files_of, new_caller_token, parse_state
from certs.rotation import State
from glasswarden.cluster.objects import Object, Objects

_LABELS: Final = {"app.kubernetes.io/name": "glasswarden"}


@dataclass(slots=True)
class Secret:
    """One Secret, written only if nobody else wrote it since it was read."""

    objects: Objects
    namespace: str
    name: str
    _seen: Object | None = field(default=None, init=False)

    @property
    def place(self) -> str:
        """How messages call it."""
        return f"Secret {self.namespace}/{self.name}"

    def read(self) -> State | None:
        """Return the rotation that is kept here, if any. Raises `StateUnreadable`."""
        self._seen = self.objects.get_or_none(f"{self._collection}/{self.name}")
        data = self._data()
        # `kubectl create secret generic` and a GitOps placeholder leave one without content.
        return parse_state(data) if data.keys() - {CALLER_TOKEN} else None

    def read_caller_token(self) -> str:
        """Return the secret part of the path that the API server calls; empty before `write`."""
        self._seen = self.objects.get_or_none(f"{self._collection}/{self.name}")
        return self._data().get(CALLER_TOKEN, b"").decode()

    def is_cert_managers(self) -> bool:
        """Tell whether cert-manager keeps the Secret that was read last."""
        annotations = (self._seen or {}).get("metadata", {}).get("annotations") or {}
        return "cert-manager.io/certificate-name" in annotations

    def write(self, state: State) -> None:
        """Keep *state* here. Raises `ObjectChanged` where somebody else was quicker."""
        token = self._data().get(CALLER_TOKEN) or new_caller_token()
        contents = {CALLER_TOKEN: token, **files_of(state)}
        data = {name: base64.b64encode(content).decode() for name, content in contents.items()}
        if self._seen is None:
            metadata = {"name": self.name, "namespace": self.namespace, "labels": _LABELS}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
            self._seen = self.objects.create(self._collection, secret)
        else:
            path = f"{self._collection}/{self.name}"
            self._seen = self.objects.replace(path, self._seen | {"data": data})

    @property
    def _collection(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets"

    def _data(self) -> dict[str, bytes]:
        data = (self._seen or {}).get("data") or {}
        return {name: base64.b64decode(content) for name, content in data.items()}
