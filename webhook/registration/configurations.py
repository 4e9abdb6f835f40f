"""The webhook configurations of a policy: for which writes the API server calls the webhook.

`matchConditions`, which the API server evaluates, exclude everything that the guard would allow
anyway: an outage of the webhook then affects only direct writes to guarded objects.
"""

import base64
from dataclasses import dataclass
from typing import Any, Final

from glasswarden.policy.breakglass import names
from glasswarden.policy.policy import EXEMPT_NAMESPACES, Policy
from webhook.registration.conditions import (
    breaks_glass,
    is_by_own_controller,
    is_by_trusted,
    is_guarded,
    not_exempt,
    touches_marks,
    was_granted,
)

GUARD: Final = "guard.glasswarden.io"
SCALE: Final = "scale.glasswarden.io"
HOLD: Final = "hold.glasswarden.io"
HOLD_WITHIN: Final = "namespace.hold.glasswarden.io"
STATUS: Final = "status.glasswarden.io"
STAMP: Final = "breakglass.glasswarden.io"
STAMP_WITHIN: Final = "namespace.breakglass.glasswarden.io"

TIMEOUT_SECONDS: Final = 5

LOOSE: Final = (
    "certificatesigningrequests/approval",
    "certificatesigningrequests/status",
    "cronjobs/status",
    "daemonsets/status",
    "deployments/status",
    "horizontalpodautoscalers/status",
    "ingresses/status",
    "jobs/status",
    "namespaces/finalize",
    "namespaces/status",
    "nodes/status",
    "persistentvolumeclaims/status",
    "persistentvolumes/status",
    "poddisruptionbudgets/status",
    "pods/status",
    "replicasets/status",
    "replicationcontrollers/status",
    "resourcequotas/status",
    "services/status",
    "statefulsets/status",
)
"""Subresources that are written together with the object's annotations, most also with its labels:
all whose strategy in Kubernetes 1.36 keeps what is sent. That of a custom resource does not."""

MOST_CONDITIONS: Final = 64
"""What the API server takes in one entry."""

LONGEST_CONDITION: Final = 16 * 1024
"""A bound of ours: conditions are compiled at every change of a configuration, and kept in etcd."""


class PolicyTooLarge(Exception):
    """The policy would make conditions that the API server does not take."""


@dataclass(frozen=True, slots=True)
class Service:
    """A Service in front of the webhook, in the cluster that it guards."""

    namespace: str
    name: str
    port: int = 443


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server reaches a webhook, and how each knows the other."""

    address: str | Service
    """A URL, or a Service of the cluster."""
    authority_pem: bytes
    caller_token: str

    def client(self, verb: str) -> dict[str, Any]:
        """Return the `clientConfig` for what the API server asks: `validate` or `mutate`."""
        path = f"/{verb}/{self.caller_token}"
        bundle = {"caBundle": base64.b64encode(self.authority_pem).decode()}
        if isinstance(self.address, str):
            return {"url": f"{self.address.rstrip('/')}{path}", **bundle}
        at = self.address
        service = {"namespace": at.namespace, "name": at.name, "port": at.port, "path": path}
        return {"service": service, **bundle}


def validating_configuration(policy: Policy, endpoint: Endpoint) -> dict[str, Any]:
    """Return the ValidatingWebhookConfiguration for a webhook at *endpoint*."""
    client = endpoint.client("validate")
    entries = [
        _guard(policy, client),
        _scale(policy, client),
        _status(policy, client),
        _keeps_held(policy, client),
    ]
    if policy.glass:
        entries.append(_keeps_held_within(policy, client))
    return _configuration("ValidatingWebhookConfiguration", policy, entries)


def mutating_configuration(policy: Policy, endpoint: Endpoint) -> dict[str, Any]:
    """Return the MutatingWebhookConfiguration: asked only where break-glass has left a trace.

    Without a rule of break-glass nothing is ever stamped or held, and it has no entries: each would
    cost every update in the cluster the time that its conditions take.
    """
    client = endpoint.client("mutate")
    makers = (_stamps, _stamps_within, _holds, _holds_within) if policy.glass else ()
    entries = [entry_for(policy, client) for entry_for in makers]
    return _configuration("MutatingWebhookConfiguration", policy, entries)


def configurations(policy: Policy, endpoint: Endpoint) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both, the validating one first."""
    return validating_configuration(policy, endpoint), mutating_configuration(policy, endpoint)


def _configuration(kind: str, policy: Policy, entries: list[dict[str, Any]]) -> dict[str, Any]:
    # The certificate controller, which has no policy, alerts by it.
    glass = {"glasswarden.io/break-glass": "true"} if policy.glass else {}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": "glasswarden",
            "labels": {"app.kubernetes.io/name": "glasswarden"},
            "annotations": {"glasswarden.io/policy": policy.digest, **glass},
        },
        "webhooks": entries,
    }


def _guard(policy: Policy, client: dict[str, Any]) -> dict[str, Any]:
    conditions = {
        "guarded": is_guarded(policy),
        "not-an-event": "!(request.resource.resource in ['events', 'leases'])",
        "not-its-controller": f"!({is_by_trusted(policy)})",
        **not_exempt(policy),
    }
    # A subresource is not covered by `*`; these two change the pod itself.
    resources = ["*", "pods/ephemeralcontainers", "pods/resize"]
    entry = _entry(GUARD, client, resources, ["CREATE", "UPDATE", "DELETE"], conditions)
    return entry | _without_answer(policy)


def _scale(policy: Policy, client: dict[str, Any]) -> dict[str, Any]:
    """Return the entry for `scale`, where no condition can see whose object it is.

    Unmanaged objects are scaled through it too, so an outage of ours must not stop that: it fails
    open, and the API server's audit log records it.
    """
    entry = _entry(SCALE, client, ["*/scale"], ["UPDATE"], not_exempt(policy))
    return entry | {"failurePolicy": "Ignore"}


def _status(policy: Policy, client: dict[str, str]) -> dict[str, Any]:
    """Return the entry for marks of ownership that are changed through a status.

    There is no legitimate write of that kind, so it may fail closed as the guard itself does.
    """
    conditions = {"touches-marks": touches_marks(policy), **not_exempt(policy)}
    return _entry(STATUS, client, list(LOOSE), ["UPDATE"], conditions) | _without_answer(policy)


def _without_answer(policy: Policy) -> dict[str, Any]:
    """Return what becomes of guarded writes by hand while nobody answers."""
    return {"failurePolicy": "Fail" if policy.fails_closed else "Ignore"}


def _keeps_held(policy: Policy, client: dict[str, str]) -> dict[str, Any]:
    """Return the entry for a reconciler that deletes what has a grant: a prune waits for its end.

    It fails open, as everything does that a reconciler could be stopped by.
    """
    conditions = {
        "granted": f"oldObject != null && {was_granted()}",
        "its-controller": is_by_own_controller(policy),
        **not_exempt(policy),
    }
    return _entry(HOLD, client, ["*"], ["DELETE"], conditions) | {"failurePolicy": "Ignore"}


def _keeps_held_within(policy: Policy, client: dict[str, str]) -> dict[str, Any]:
    """Return the same for what is in a Namespace that has a grant: a scale leaves no stamp."""
    conditions = {
        "not-asked-already": f"oldObject != null && !({was_granted()})",
        "its-controller": is_by_own_controller(policy),
        **not_exempt(policy),
    }
    entry = _entry(HOLD_WITHIN, client, ["*"], ["DELETE"], conditions)
    return _within_granted(entry) | {"failurePolicy": "Ignore"}


def _stamps(policy: Policy, client: dict[str, str]) -> dict[str, Any]:
    """Return the entry for people's writes where break-glass has left, or asks for, a trace.

    It fails open: without a stamp nobody gets in, and an outage of ours stops nobody else.
    """
    conditions = {
        "breaks-glass": breaks_glass(),
        "not-its-controller": f"!({is_by_own_controller(policy)})",
        **not_exempt(policy),
    }
    # Another webhook may change fields after ours: they belong to what is remembered.
    return _mutating(STAMP, client, conditions) | {"reinvocationPolicy": "IfNeeded"}


def _stamps_within(policy: Policy, client: dict[str, str]) -> dict[str, Any]:
    """Return the entry for people's writes to guarded objects in a Namespace that has a grant."""
    conditions = {
        "guarded": is_guarded(policy),
        "not-asked-already": f"!({breaks_glass()})",
        "not-its-controller": f"!({is_by_own_controller(policy)})",
        **not_exempt(policy),
    }
    entry = _within_granted(_mutating(STAMP_WITHIN, client, conditions))
    return entry | {"reinvocationPolicy": "IfNeeded"}


def _holds(policy: Policy, client: dict[str, str]) -> dict[str, Any]:
    """Return the entry for a reconciler's own writes where break-glass has left a trace.

    It fails open: an outage of ours never stops a reconciler.
    """
    conditions = {
        "breaks-glass": breaks_glass(),
        "its-controller": is_by_own_controller(policy),
        **not_exempt(policy),
    }
    return _mutating(HOLD, client, conditions)


def _holds_within(policy: Policy, client: dict[str, str]) -> dict[str, Any]:
    """Return the entry for a reconciler's own writes in a Namespace that has a grant.

    A scale under that grant has left no trace yet but in managedFields, which no condition reads.
    """
    conditions = {
        "not-asked-already": f"!({breaks_glass()})",
        "its-controller": is_by_own_controller(policy),
        **not_exempt(policy),
    }
    return _within_granted(_mutating(HOLD_WITHIN, client, conditions))


def _mutating(name: str, client: dict[str, str], conditions: dict[str, str]) -> dict[str, Any]:
    """Return an entry that is asked once: what a hold put back must not pass for what was sent."""
    entry = _entry(name, client, ["*"], ["UPDATE"], conditions)
    return entry | {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "Never",
        "sideEffects": "None",
    }


def _within_granted(entry: dict[str, Any]) -> dict[str, Any]:
    active = {"key": names.ACTIVE, "operator": "In", "values": ["true"]}
    selector = entry["namespaceSelector"]
    return entry | {
        "namespaceSelector": {"matchExpressions": [*selector["matchExpressions"], active]}
    }


def _entry(
    name: str,
    client: dict[str, Any],
    resources: list[str],
    operations: list[str],
    conditions: dict[str, str],
) -> dict[str, Any]:
    _check_limits(name, conditions)
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "rules": [
            {
                "operations": operations,
                "apiGroups": ["*"],
                "apiVersions": ["*"],
                "resources": resources,
                "scope": "*",
            }
        ],
        # An object that is written under another version is asked about all the same.
        "matchPolicy": "Equivalent",
        "namespaceSelector": outside(_exempt(client)),
        "matchConditions": [
            {"name": name, "expression": expression} for name, expression in conditions.items()
        ],
        # A dry run leaves no record.
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": TIMEOUT_SECONDS,
    }


def _check_limits(name: str, conditions: dict[str, str]) -> None:
    if len(conditions) > MOST_CONDITIONS:
        raise PolicyTooLarge(f"{name}: {len(conditions)} conditions, at most {MOST_CONDITIONS}")
    for condition, expression in conditions.items():
        if len(expression) > LONGEST_CONDITION:
            raise PolicyTooLarge(
                f"{name}: the condition {condition!r} has {len(expression)} characters, at most "
                f"{LONGEST_CONDITION}; write controllers and markers with fewer patterns"
            )


def _exempt(client: dict[str, Any]) -> tuple[str, ...]:
    """Return where nothing is asked about, wherever we ourselves are: we could not be mended."""
    service = client.get("service")
    own = (service["namespace"],) if service else ()
    return tuple(dict.fromkeys((*EXEMPT_NAMESPACES, *own)))


def outside(namespaces: tuple[str, ...]) -> dict[str, Any]:
    """Return the selector of every namespace but *namespaces*."""
    key = "kubernetes.io/metadata.name"
    return {"matchExpressions": [{"key": key, "operator": "NotIn", "values": list(namespaces)}]}
