"""The `caBundle` in our own webhook configurations, and in nobody else's.

A configuration is known by its kind and name. Nothing of it but `caBundle` is written, and only
where the entry that was read still stands.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from glasswarden.cluster.client import ApiServer
from glasswarden.kube.objects import Object

ROOT: Final = "/apis/admissionregistration.k8s.io/v1"
NAME: Final = "glasswarden"
BREAK_GLASS: Final = "glasswarden.io/break-glass"
"""Says, on each configuration, that grants must be stamped: both have to be there."""

Restore = Callable[[bytes], list[Object]]
"""Makes the configurations anew, with the bundle they shall hold; may raise `RestoreFailed`."""


class RestoreFailed(Exception):
    """A configuration could not be made anew; the message says what to mend."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A webhook configuration of ours."""

    resource: str
    required: bool
    """Whether its absence is always an alarm; else only where the policy has break-glass rules."""
    name: str = NAME

    @property
    def path(self) -> str:
        """Where it is in the API."""
        return f"{ROOT}/{self.resource}/{self.name}"


OURS: Final = (
    Configuration("validatingwebhookconfigurations", required=True),
    Configuration("mutatingwebhookconfigurations", required=False),
)


class Condition(StrEnum):
    """How a configuration was found, or left."""

    CURRENT = "current"
    PATCHED = "patched"
    RESTORED = "restored"
    MISSING = "missing"
    NOT_NEEDED = "not needed"
    """It is not there, and need not be."""


Sightings = dict[Configuration, Condition]


def publish(server: ApiServer, bundle: bytes, ours: tuple[Configuration, ...] = OURS) -> Sightings:
    """Bring *bundle* into every configuration of *ours* that exists; return how each was found."""
    found = {each: server.get_or_none(each.path) for each in ours}
    breaks_glass = any(_breaks_glass(each) for each in found.values())
    seen: Sightings = {}
    for each, configuration in found.items():
        if configuration is not None:
            seen[each] = _publish_in(server, each, configuration, bundle)
        else:
            needed = each.required or breaks_glass
            seen[each] = Condition.MISSING if needed else Condition.NOT_NEEDED
    return seen


def restore(server: ApiServer, bundle: bytes, seen: Sightings, make: Restore) -> Sightings:
    """Create the configurations that were *seen* to be missing."""
    missing = {each for each, state in seen.items() if state is Condition.MISSING}
    made = {_resource(manifest): manifest for manifest in make(bundle)} if missing else {}
    for each in missing & {each for each in seen if each.resource in made}:
        server.create(f"{ROOT}/{each.resource}", made[each.resource])
        seen = seen | {each: Condition.RESTORED}
    return seen


def is_published(seen: Sightings) -> bool:
    """Tell whether every configuration there is was found with the bundle.

    One that had to be patched was without it until now; one that is gone asks nobody.
    """
    return not {Condition.PATCHED, Condition.RESTORED} & {*seen.values()}


def patch_for(configuration: Object, bundle: bytes) -> list[Object]:
    """Return the JSON patch that brings *bundle* into *configuration*; empty where it is there."""
    wanted = base64.b64encode(bundle).decode()
    return [
        operation
        for index, entry in enumerate(configuration.get("webhooks") or [])
        if entry.get("clientConfig", {}).get("caBundle") != wanted
        for operation in (
            # Entries have no key in a path but their place: another one may stand there by now.
            {"op": "test", "path": f"/webhooks/{index}/name", "value": entry["name"]},
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": wanted},
        )
    ]


def _breaks_glass(configuration: Object | None) -> bool:
    """Tell whether the policy behind *configuration* lets somebody break the glass."""
    metadata = (configuration or {}).get("metadata") or {}
    return (metadata.get("annotations") or {}).get(BREAK_GLASS) == "true"


def _publish_in(
    server: ApiServer, configuration: Configuration, found: Object, bundle: bytes
) -> Condition:
    patch = patch_for(found, bundle)
    if not patch:
        return Condition.CURRENT
    server.patch(configuration.path, patch)
    return Condition.PATCHED


def _resource(manifest: Object) -> str:
    return f"{manifest['kind'].lower()}s"
