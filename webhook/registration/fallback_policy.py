"""The fallback policy: a ValidatingAdmissionPolicy for the time while the webhook is unavailable.

It is made from the same policy, and is never stricter than the webhook: it denies what the API
server can decide from the objects alone. Everything else (delegated fields, an engine whose marks
an expression cannot read, a request for break-glass) is left to the webhook. So it can always be
installed next to the webhook.
"""

from itertools import groupby
from typing import Any, Final

from glasswarden.kube.engines.cel import SUBJECT
from glasswarden.policy.breakglass.names import PREFIX
from glasswarden.policy.document import Benign
from glasswarden.policy.matching import Names, ObjectSelector
from glasswarden.policy.policy import EXEMPT_NAMESPACES, OUR_NAMESPACE, Policy
from glasswarden.policy.types import Mode
from webhook.registration import cel
from webhook.registration.conditions import not_exempt, steers
from webhook.registration.configurations import PolicyTooLarge, outside

NAME: Final = "glasswarden-floor"
LONGEST_VARIABLE: Final = 64 * 1024
MOST_TURNS: Final = 30

_USER: Final = "request.userInfo.username"


def new_fallback_policy(policy: Policy, namespace: str = OUR_NAMESPACE) -> list[dict[str, Any]]:
    """Return the ValidatingAdmissionPolicy and its binding; we ourselves are in *namespace*."""
    labels = {"app.kubernetes.io/name": "glasswarden"}
    metadata = {
        "name": NAME,
        "labels": labels,
        "annotations": {"glasswarden.io/policy": policy.digest},
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": metadata}
    binding = {"policyName": NAME, "validationActions": ["Deny"]}
    return [
        {**head, "kind": "ValidatingAdmissionPolicy", "spec": _spec(policy, namespace)},
        {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    ]


def _spec(policy: Policy, namespace: str) -> dict[str, Any]:
    return {
        # An expression that fails must not be the reason that a cluster stands still.
        "failurePolicy": "Ignore",
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": outside(tuple(dict.fromkeys((*EXEMPT_NAMESPACES, namespace)))),
            "resourceRules": [
                {
                    "apiGroups": ["*"],
                    "apiVersions": ["*"],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                    "resources": ["*"],
                    "scope": "*",
                }
            ],
        },
        "matchConditions": _variables_of(_conditions(policy)),
        "variables": _variables_of(_check_size(_variables(policy))),
        "validations": [
            {
                "expression": "!(variables.guarded && variables.changed && !variables.excused)",
                "messageExpression": _message(),
                "reason": "Forbidden",
            }
        ],
    }


def _check_size(variables: dict[str, str]) -> dict[str, str]:
    """Return *variables*, or raise `PolicyTooLarge`: what costs too much lets every write pass."""
    for name, expression in variables.items():
        if len(expression) > LONGEST_VARIABLE:
            long = f"{name!r} has {len(expression)} characters, at most {LONGEST_VARIABLE}"
            raise PolicyTooLarge(
                f"the fallback policy: {long}; write modes and markers with fewer patterns"
            )
    return variables


def _variables_of(expressions: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "expression": text} for name, text in expressions.items()]


def _conditions(policy: Policy) -> dict[str, str]:
    """Return the conditions that exclude writes which the fallback policy never denies."""
    controllers = [names for names in policy.controllers.values() if names]
    delegates = [each.actors for each in policy.delegates if each.actors]
    trusted = cel.any_of(cel.is_among(_USER, names) for names in (*controllers, *delegates))
    conditions = {
        "not-an-event": "!(request.resource.resource in ['events', 'leases'])",
        "not-dry-run": "!(has(request.dryRun) && request.dryRun)",
        "not-trusted": f"!({trusted})",
        **not_exempt(policy),
    }
    managers = [each.managers for each in policy.delegates if each.managers]
    if managers:
        manager = "request.options.fieldManager"
        others = f"!({cel.any_of(cel.is_among(manager, names) for names in managers)})"
        # Without one, the webhook reads the manager from the object.
        known = ["has(request.options)", f"has({manager})", others]
        conditions["not-a-delegates-manager"] = cel.all_of(known)
    return conditions


def _variables(policy: Policy) -> dict[str, str]:
    """Return the steps of the judgement, each of which may use those before it."""
    return {
        # What an object was decides whose it is.
        "subject": "oldObject != null ? oldObject : object",
        "place": "has(request.namespace) ? request.namespace : ''",
        "name": f"has({SUBJECT}.metadata.name) ? {SUBJECT}.metadata.name : ''",
        "steers": steers(policy),
        **_of_the_first_claim(policy),
        "owned": _is_owned(policy),
        "enforced": _is_enforced(policy),
        "guarded": cel.any_of(
            [
                "variables.steers && " + _boolean(policy.document.reconcilers is Mode.ENFORCE),
                "!variables.steers && variables.owned && variables.enforced",
            ]
        ),
        "changed": _is_changed(policy),
        "excused": _is_excused(),
    }


def _is_owned(policy: Policy) -> str:
    references = f"{SUBJECT}.metadata.ownerReferences"
    controlled = f"has({references}) && {references}.exists(r, has(r.controller) && r.controller)"
    # Engines whose marks take more than an expression to distinguish from copied ones.
    unread = (sign for each in policy.engines if each.cel_claims is None for sign in each.signs)
    return cel.all_of(
        [
            "variables.engine != ''",
            f"!({controlled})",
            f"!({cel.any_of(cel.carries(SUBJECT, sign) for sign in unread)})",
            # Endpoints inherit their Service's labels and have no ownerReference.
            "request.kind.kind != 'Endpoints'",
        ]
    )


def _of_the_first_claim(policy: Policy) -> dict[str, str]:
    """Return the engine that claims the subject, and the application, as variables."""
    engine = app = namespace = "''"
    for each in reversed(policy.engines):
        for claim in reversed(each.cel_claims or ()):
            engine = f"({claim.test}) ? {cel.text(each.name)} : ({engine})"
            app = f"({claim.test}) ? {claim.app} : ({app})"
            namespace = f"({claim.test}) ? {claim.namespace} : ({namespace})"
    return {"engine": engine, "app": app, "appNamespace": namespace}


def _is_enforced(policy: Policy) -> str:
    """Return the condition that the policy's mode for the subject is `enforce`.

    Neighbouring rules that come to the same are asked together: each step of a chain is one level
    deeper, and the API server takes only so many.
    """
    chain = _boolean(policy.document.mode is Mode.ENFORCE)
    runs = [
        (enforces, [place for place, _ in rules])
        for enforces, rules in groupby(policy.modes, lambda rule: rule[1] is Mode.ENFORCE)
    ]
    if len(runs) > MOST_TURNS:
        raise PolicyTooLarge(
            f"the fallback policy: the modes turn to enforce and back more than {MOST_TURNS} times"
        )
    for enforces, places in reversed(runs):
        chain = f"{cel.any_of(map(_fits, places))} ? {_boolean(enforces)} : ({chain})"
    return chain


def _fits(place: ObjectSelector) -> str:
    where, tests = place.where, []
    if where.namespaces:
        tests.append(cel.is_among("variables.place", place.namespaces))
    if where.kinds:
        grouped = "request.kind.group + '/' + request.kind.kind"
        kinds = (
            _among("request.kind.kind", place.kinds.bare),
            _among(grouped, place.kinds.grouped),
        )
        tests.append(cel.any_of(kinds))
    if where.names:
        tests.append(cel.is_among("variables.name", place.names))
    if where.engines:
        tests.append(cel.is_among("variables.engine", place.engines))
    if where.applications:
        full = "variables.appNamespace + '/' + variables.app"
        bare = cel.is_among("variables.app", place.applications)
        tests.append(cel.any_of([bare, _among(full, place.applications)]))
    tests += (_label_fits(key, values) for key, values in place.labels)
    return cel.all_of(tests)


def _among(subject: str, names: Names) -> str:
    return cel.is_among(f"({subject})", names)


def _label_fits(key: str, values: Names) -> str:
    labels = f"{SUBJECT}.metadata.labels"
    there = [f"has({labels})", f"{cel.text(key)} in {labels}"]
    return cel.all_of([*there, cel.is_among(f"{labels}[{cel.text(key)}]", values)])


def _is_changed(policy: Policy) -> str:
    """Return the condition that the write certainly changes what somebody decided about."""
    content = cel.any_of(_differs(field) for field in ("spec", "data"))
    if policy.document.benign:
        # A restart or an undo changes a workload's template: the webhook distinguishes them.
        undo = Benign.ROLLOUT_UNDO in policy.document.benign
        template = "false" if undo else _template_differs()
        content = f"request.kind.group == 'apps' ? ({template}) : ({content})"
    return f"request.operation != 'UPDATE' || ({content})"


def _differs(field: str) -> str:
    new, old = f"object.{field}", f"oldObject.{field}"
    return f"has({new}) && has({old}) && {new} != {old}"


def _template_differs() -> str:
    paths = ("spec", "spec.template", "spec.template.spec")
    there = (f"has({which}.{path})" for path in paths for which in ("object", "oldObject"))
    return cel.all_of([*there, "object.spec.template.spec != oldObject.spec.template.spec"])


def _is_excused() -> str:
    """Return the condition that the webhook might allow it: asked for, or on its way out."""
    asks = cel.any_of(_asks(each) for each in ("object", "oldObject", "namespaceObject"))
    return f"has({SUBJECT}.metadata.deletionTimestamp) || {asks}"


def _asks(which: str) -> str:
    annotations = f"{which}.metadata.annotations"
    asked = f"{annotations}.exists(key, key.startsWith({cel.text(PREFIX)}))"
    return cel.all_of([f"{which} != null", f"has({annotations})", asked])


def _message() -> str:
    what = "request.kind.kind + ' ' + (variables.place != '' ? variables.place + '/' : '')"
    text = " is managed by GitOps; this direct write is refused. Change it in Git instead."
    return f"{what} + variables.name + {cel.text(text)}"


def _boolean(value: bool) -> str:  # noqa: FBT001 - it is the only argument
    return "true" if value else "false"
