"""Maintains the `caBundle` in Glasswarden's own webhook configurations, and in no others.

A configuration is identified by its kind and name. Nothing except `caBundle` is written, and only
if the entry that was read still has its place in the list.
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
BREAK_GLASS_ANNOTATION: Final = "glasswarden.io/break-glass"
"""Annotation of both configurations: grants must be stamped, so both must exist."""

Restore = Callable[[bytes], list[Object]]
"""Returns the manifests of the configurations with a bundle; may raise `RestoreFailed`."""


class RestoreFailed(Exception):
    """A configuration could not be created again; the message names what to correct."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One of Glasswarden's webhook configurations."""

    resource: str
    required: bool
    """Whether it must always exist; else only if the policy has break-glass rules."""
    name: str = NAME

    @property
    def path(self) -> str:
        """Its path in the API."""
        return f"{ROOT}/{self.resource}/{self.name}"


OURS: Final = (
    Configuration("validatingwebhookconfigurations", required=True),
    Configuration("mutatingwebhookconfigurations", required=False),
)


class Condition(StrEnum):
    """The state in which a configuration was found or left."""

    CURRENT = "current"
    PATCHED = "patched"
    RESTORED = "restored"
    MISSING = "missing"
    NOT_NEEDED = "not needed"
    """It does not exist, and need not."""


Conditions = dict[Configuration, Condition]


def publish_bundle(
    server: ApiServer, bundle: bytes, ours: tuple[Configuration, ...] = OURS
) -> Conditions:
    """Bring *bundle* into every configuration of *ours* that exists; return how each was found."""
    found = {each: server.get_or_none(each.path) for each in ours}
    breaks_glass = any(_has_break_glass(each) for each in found.values())
    seen: Conditions = {}
    for each, configuration in found.items():
        if configuration is not None:
            seen[each] = _publish_into(server, each, configuration, bundle)
        else:
            needed = each.required or breaks_glass
            seen[each] = Condition.MISSING if needed else Condition.NOT_NEEDED
    return seen


def restore_missing(
    server: ApiServer, bundle: bytes, seen: Conditions, make: Restore
) -> Conditions:
    """Create the configurations that were *seen* to be missing."""
    missing = {each for each, state in seen.items() if state is Condition.MISSING}
    made = {_resource_of(manifest): manifest for manifest in make(bundle)} if missing else {}
    for each in missing & {each for each in seen if each.resource in made}:
        server.create(f"{ROOT}/{each.resource}", made[each.resource])
        seen = seen | {each: Condition.RESTORED}
    return seen


def is_published(seen: Conditions) -> bool:
    """Return whether every existing configuration already had the bundle.

    A configuration that was patched did not have it until now. One that is missing does not count:
    the API server sends no reviews for it.
    """
    return not {Condition.PATCHED, Condition.RESTORED} & {*seen.values()}


def patch_for(configuration: Object, bundle: bytes) -> list[Object]:
    """Return the JSON patch that sets *bundle* in *configuration*; empty if it is set."""
    wanted = base64.b64encode(bundle).decode()
    return [
        operation
        for index, entry in enumerate(configuration.get("webhooks") or [])
        if entry.get("clientConfig", {}).get("caBundle") != wanted
        for operation in (
            # A path names an entry only by its position, where another entry may be by now.
            {"op": "test", "path": f"/webhooks/{index}/name", "value": entry["name"]},
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": wanted},
        )
    ]


def _has_break_glass(configuration: Object | None) -> bool:
    """Return whether the policy behind *configuration* has break-glass rules."""
    metadata = (configuration or {}).get("metadata") or {}
    return (metadata.get("annotations") or {}).get(BREAK_GLASS_ANNOTATION) == "true"


def _publish_into(
    server: ApiServer, configuration: Configuration, found: Object, bundle: bytes
) -> Condition:
    patch = patch_for(found, bundle)
    if not patch:
        return Condition.CURRENT
    server.patch(configuration.path, patch)
    return Condition.PATCHED


def _resource_of(manifest: Object) -> str:
    return f"{manifest['kind'].lower()}s"
