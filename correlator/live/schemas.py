"""The defaults of custom resources, from the API server's own description of them."""

from typing import Any, Final

import msgspec

from correlator.live.source import Kind
from glasswarden.cluster.apiserver import ApiServer, ApiServerError
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.paths import Key, Path

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Schemas:
    """Reads the description of an API group when one of its kinds is first asked about."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._known: dict[tuple[str, str], dict[str, Any]] = {}

    def default_at(self, kind: Kind, path: Path) -> Value:
        """Return what the API server puts at *path* where nothing is said; `ABSENT` if nothing."""
        schema: Any = self._schemas(kind.group, kind.version).get(kind.name)
        for step in path.steps:
            if not isinstance(schema, dict):
                return ABSENT
            if isinstance(step, Key):
                fields = schema.get("properties")
                fields = fields if isinstance(fields, dict) else {}
                schema = fields.get(step.name, schema.get("additionalProperties"))
            else:
                schema = schema.get("items")
        return schema.get("default", ABSENT) if isinstance(schema, dict) else ABSENT

    def _schemas(self, group: str, version: str) -> dict[str, Any]:
        """Return the schemas of a group's kinds, none where they cannot be had."""
        if (group, version) not in self._known:
            try:
                document = _decode(self._server.fetch(f"/openapi/v3/apis/{group}/{version}"))
            except (ApiServerError, msgspec.DecodeError):
                document = {}
            self._known[group, version] = dict(_by_kind(document, group))
        return self._known[group, version]


def _by_kind(document: dict[str, Any], group: str) -> list[tuple[str, Any]]:
    found = document.get("components")
    schemas = found.get("schemas") if isinstance(found, dict) else None
    return [
        (each["kind"], schema)
        for schema in (schemas.values() if isinstance(schemas, dict) else ())
        if isinstance(schema, dict)
        for each in schema.get("x-kubernetes-group-version-kind") or ()
        if isinstance(each, dict) and each.get("group") == group and "kind" in each
    ]
