"""Which kinds an API server serves, and where: two requests, however many kinds there are."""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import msgspec

from glasswarden.cluster.client import ApiServer, ApiServerError

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of objects in one version, and the name of its collection."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str]

    def url(self, namespace: str = "", name: str = "") -> str:
        """Return the path of the collection, or of one object in it."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        within = f"/namespaces/{quote(namespace)}" if namespace and self.namespaced else ""
        return f"{root}{within}/{self.plural}" + (f"/{quote(name)}" if name else "")


@dataclass(frozen=True, slots=True)
class Served:
    """What an API server serves."""

    resources: dict[tuple[str, str, str], Resource]
    """By group, version and kind."""
    preferred: tuple[Resource, ...]
    """Each kind once, in the version that the server prefers."""
    stale: tuple[str, ...]
    """Groups whose own server did not answer: what they serve is not known."""


def served_by(server: ApiServer) -> Served:
    """Ask *server* what it serves. Raises `ApiServerError`."""
    try:
        return _parse_discovery(
            server.fetch("/api", _AGGREGATED), server.fetch("/apis", _AGGREGATED)
        )
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError) as error:
        raise ApiServerError(f"what is served does not tell the API's kinds: {error}") from error


def _parse_discovery(*documents: bytes) -> Served:
    groups: list[dict[str, Any]] = []
    for document in documents:
        groups += _decode(document).get("items") or []
    versions = [
        (str(group["metadata"].get("name", "")), version)
        for group in groups
        for version in group.get("versions") or []
    ]
    found = [each for group, version in versions for each in _resources(group, version)]
    first: dict[tuple[str, str], Resource] = {}
    for each in found:  # the server lists the version that it prefers first
        first.setdefault((each.group, each.kind), each)
    return Served(
        {(each.group, each.version, each.kind): each for each in found},
        tuple(first.values()),
        tuple(
            f"{group}/{version['version']}"
            for group, version in versions
            if version.get("freshness") == "Stale"
        ),
    )


def _resources(group: str, version: dict[str, Any]) -> list[Resource]:
    return [
        Resource(
            group,
            version["version"],
            each["responseKind"]["kind"],
            each["resource"],
            each.get("scope") == "Namespaced",
            frozenset(each.get("verbs") or ()),
        )
        for each in version.get("resources") or []
        # A stored kind names itself; what answers with another kind is a request in disguise.
        if each.get("responseKind", {}).get("kind")
    ]
