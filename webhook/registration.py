"""The webhook configuration: which writes the API server asks us about.

Everything that the guard would let pass unseen is kept away by `matchConditions`, in the API
server itself: an outage of ours then touches nobody but those who write to guarded objects.
"""

import base64
from typing import Any

from glasswarden.kube.owners import DEFAULT_ENGINES, Mark
from glasswarden.policy.policy import DEFAULT_CONTROLLERS

NAME = "guard.glasswarden.io"
TIMEOUT_SECONDS = 5

# Where cluster components live: a webhook that can stop them can stop its own recovery.
EXEMPT_NAMESPACES = ["kube-system", "kube-node-lease", "kube-public"]


def validating_configuration(url: str, authority_pem: bytes) -> dict[str, Any]:
    """Return the ValidatingWebhookConfiguration for a webhook that is reached at *url*."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "glasswarden", "labels": {"app.kubernetes.io/name": "glasswarden"}},
        "webhooks": [
            {
                "name": NAME,
                "admissionReviewVersions": ["v1"],
                "clientConfig": {
                    "url": f"{url.rstrip('/')}/validate",
                    "caBundle": base64.b64encode(authority_pem).decode(),
                },
                "rules": [
                    {
                        "operations": ["CREATE", "UPDATE", "DELETE"],
                        "apiGroups": ["*"],
                        "apiVersions": ["*"],
                        "resources": ["*"],
                        "scope": "*",
                    }
                ],
                # A review under another version of the same object is converted to this one.
                "matchPolicy": "Equivalent",
                "namespaceSelector": _outside(EXEMPT_NAMESPACES),
                "matchConditions": [
                    {"name": "managed", "expression": _managed()},
                    {"name": "not-a-controller", "expression": _no_controller()},
                    {"name": "not-kubernetes", "expression": _not_kubernetes()},
                ],
                "failurePolicy": "Fail",
                # A dry run leaves no record.
                "sideEffects": "NoneOnDryRun",
                "timeoutSeconds": TIMEOUT_SECONDS,
            }
        ],
    }


def _outside(namespaces: list[str]) -> dict[str, Any]:
    return {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": namespaces}
        ]
    }


def _managed() -> str:
    """Return the CEL condition that the old or the new object carries some engine's sign."""
    signs = {sign for engine in DEFAULT_ENGINES for sign in engine.signs}
    tests = [_carries(sign) for sign in sorted(signs, key=lambda sign: (sign.kind, sign.key))]
    return f"[object, oldObject].exists(o, o != null && ({' || '.join(tests)}))"


def _carries(sign: Mark) -> str:
    field = f"o.metadata.{sign.kind}s"
    key = _quoted(sign.key)
    test = f"has({field}) && {key} in {field}"
    return test if sign.value is None else f"{test} && {field}[{key}] == {_quoted(sign.value)}"


def _no_controller() -> str:
    """Return the CEL condition that the writer is none of the trusted reconcilers."""
    names = sorted(name for names in DEFAULT_CONTROLLERS.values() for name in names)
    return f"!(request.userInfo.username in [{', '.join(map(_quoted, names))}])"


def _not_kubernetes() -> str:
    """Return the CEL condition that the writer is no component of Kubernetes itself.

    They count revisions, set defaults and collect garbage on guarded objects as on all others.
    """
    prefixes = ["system:serviceaccount:kube-system:", "system:kube-", "system:node:"]
    tests = [f"request.userInfo.username.startsWith({_quoted(each)})" for each in prefixes]
    tests.append(f"request.userInfo.username == {_quoted('system:apiserver')}")
    return f"!({' || '.join(tests)})"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
