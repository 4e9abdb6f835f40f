"""A policy file is read strictly, and a mistake in it is reported with its place."""

import pytest

from glasswarden.policy.document import EMPTY
from glasswarden.policy.load import PolicyInvalid, document_schema, parse_document
from glasswarden.policy.types import Mode

HEAD = "apiVersion: glasswarden.io/v1\nkind: Policy\n"


def test_file_without_settings_has_every_default() -> None:
    assert parse_document(HEAD) == EMPTY


def test_every_key_is_parsed() -> None:
    document = parse_document(
        HEAD
        + """
cluster: prod-eu
mode: warn
reconcilers: enforce
modes:
  - {mode: enforce, namespaces: [shop], engines: [flux], applications: [a], kinds: [Deployment],
     names: [web], labels: {tier: prod}}
engines:
  argocd: {tracking: label, instanceLabelKey: example.com/instance, installationID: one,
           controllers: ["system:serviceaccount:gitops:*"]}
  helm: {enabled: true}
  sveltos: {enabled: false}
markers:
  - {name: deployer, label: example.com/managed-by, value: deployer, application: example.com/app,
     controllers: [deployer]}
delegations:
  - {name: scaler, actors: [scaler], kinds: [Deployment], fields: [/spec/replicas]}
  - {name: cleaner, actors: [cleaner], kinds: [Job], fields: [/**], operations: [UPDATE, DELETE]}
defaultDelegations: false
benign: [rollout-restart, rollout-pause, rollout-undo]
reservedNamespaces: ["gitops-*"]
detach: {users: [root], groups: [platform]}
sensitive:
  - {kinds: [ConfigMap], fields: [/data/token]}
breakGlass:
  rules:
    - {name: a, users: [x], groups: [g], namespaces: [shop], ticket: "INC-[0-9]+", reasonLength: 20,
       ttl: {default: 30m, longest: 8h}, operations: [update, scale, delete, create],
       closed: [/spec/a], namespaceWide: false, mostOpen: {person: 1, namespace: 2}, shared: true,
       hours: {days: [sat, sun], from: "08:00", to: "20:00", timezone: Asia/Tokyo, outside: true},
       approval: {users: [y], groups: [h], within: 15m}, hold: false}
emergencyGroup: firefighters
"""
    )
    assert (document.cluster, document.mode, document.reconcilers) == (
        "prod-eu",
        Mode.WARN,
        Mode.ENFORCE,
    )
    assert document.engines.argocd.installation_id == "one"


def rule(*lines: str) -> str:
    """Return a policy with one break-glass rule."""
    return "\n    ".join([f"{HEAD}breakGlass:\n  rules:\n  - name: a", *lines])


MISTAKES = {
    "nothing": ("", "line 1, column 1: a policy is a mapping"),
    "a list": ("- x", "line 1, column 1: a policy is a mapping"),
    "not YAML": ("a: [", "line 1, column 5: not YAML"),
    "no head": ("mode: warn", "line 1, column 1: object missing required field apiVersion"),
    "another version": (
        "apiVersion: glasswarden.io/v2\nkind: Policy",
        "line 1, column 13: apiVersion: invalid value 'glasswarden.io/v2'; did you mean",
    ),
    "a mistyped key": (
        f"{HEAD}moode: warn",
        "line 3, column 1: unknown key 'moode'; did you mean 'mode'?",
    ),
    "a deletion of some fields": (
        f"{HEAD}delegations: [{{name: a, actors: [x], fields: [/a], operations: [UPDATE,DELETE]}}]",
        "line 3, column 72: a DELETE is of the whole object: its fields are /**",
    ),
    "a creation of some fields": (
        f"{HEAD}delegations: [{{name: a, actors: [x], fields: [/a], operations: [CREATE]}}]",
        "line 3, column 65: a CREATE is of the whole object",
    ),
    "a list for a key": (
        f"{HEAD}engines:\n  ? [flux]\n  : {{}}",
        "line 4, column 5: a key must be text, not a list or a mapping",
    ),
    "a number for a key": (
        f"{HEAD}modes:\n  - mode: warn\n    labels: {{7: x}}",
        "line 5, column 14: the key '7' is not text: put it in quotes",
    ),
    "no such day": (
        f"{HEAD}mode: warn\ncluster: 2026-13-45",
        "line 4, column 10: not a valid YAML value: '2026-13-45'",
    ),
    "a tag that lies": (f"{HEAD}cluster: !!bool x", "line 3, column 10: not a valid YAML value"),
    "an abyss": (
        f"{HEAD}cluster: {'[' * 5000}{']' * 5000}",
        "line 3, column 59: nested too deep for a policy",
    ),
    "a mistyped key deep inside": (
        f"{HEAD}modes:\n  - mode: warn\n    namespace: [a]",
        "line 5, column 5: unknown key 'namespace'; did you mean 'namespaces'?",
    ),
    "a key like no other": (
        f"{HEAD}detach:\n  zzzzzz: 1",
        "line 4, column 3: unknown key 'zzzzzz'; known here: groups, users",
    ),
    "a mistyped value": (
        f"{HEAD}mode: wran",
        "line 3, column 7: mode: invalid value 'wran'; did you mean 'warn'?",
    ),
    "a number for text": (f"{HEAD}cluster: 3", "line 3, column 10: cluster: expected str, got int"),
    "text for a list": (
        f"{HEAD}reservedNamespaces: shop",
        "line 3, column 21: reservedNamespaces: expected array, got str",
    ),
    "a key twice": (
        f"{HEAD}mode: warn\nmode: audit",
        "line 4, column 1: the key 'mode' is duplicate",
    ),
    "a delegation to nobody": (
        f"{HEAD}delegations:\n  - name: x\n    fields: [/a]",
        "line 4, column 5: a delegation names who is delegated to",
    ),
    "a field that is no path": (
        f"{HEAD}delegations:\n  - name: x\n    actors: [a]\n    fields: [/ok, 'spec']",
        "line 6, column 19: no field path",
    ),
    "a marker that is two": (
        f"{HEAD}markers:\n  - {{name: x, label: a, annotation: b}}",
        "line 4, column 5: a marker is either a label or an annotation",
    ),
    "a marker that exists": (
        f"{HEAD}markers:\n  - {{name: flux, label: a}}",
        "line 4, column 12: 'flux' is an engine that is known already",
    ),
    "a marker twice": (
        f"{HEAD}markers:\n  - {{name: x, label: a}}\n  - {{name: x, label: b}}",
        "line 5, column 12: the marker 'x' is duplicate",
    ),
    "a rule for nobody": (
        rule("ttl: {longest: 2h}"),
        "line 5, column 5: a rule names who may break the glass: users, or groups",
    ),
    "a mistyped key of a rule": (
        rule("users: [x]", "ttll: 1h"),
        "line 7, column 5: unknown key 'ttll'; did you mean 'ttl'?",
    ),
    "a ticket that is no pattern": (
        rule("users: [x]", "ticket: INC-("),
        "line 7, column 13: no regular expression: missing ), unterminated subpattern",
    ),
    "a time that is none": (
        rule("users: [x]", "ttl: {longest: soon}"),
        "line 7, column 20: 'soon' is not a duration such as 30m, 2h or 1h30m",
    ),
    "a default beyond the longest": (
        rule("users: [x]", "ttl: {default: 5h}"),
        "line 7, column 10: the default, 5h, is longer than the longest",
    ),
    "a closed field that is no path": (
        rule("users: [x]", "closed: [spec]"),
        "line 7, column 14: no field path",
    ),
    "an approval by nobody": (
        rule("users: [x]", "approval: {within: 5m}"),
        "line 7, column 15: an approval names who approves: users, or groups",
    ),
    "an approval within no time": (
        rule("users: [x]", "approval: {users: [y], within: x}"),
        "line 7, column 36: 'x' is not a duration",
    ),
    "hours that are none": (
        rule("users: [x]", 'hours: {from: "9", to: "17:00"}'),
        "line 7, column 19: '9' is no time of the day such as 09:00",
    ),
    "hours that end before they begin": (
        rule("users: [x]", 'hours: {from: "17:00", to: "09:00"}'),
        "line 7, column 12: they end before they begin",
    ),
    "a time zone that is none": (
        rule("users: [x]", 'hours: {from: "09:00", to: "17:00", timezone: Berlin}'),
        "line 7, column 51: 'Berlin' is no time zone such as Europe/Berlin",
    ),
    "a rule twice": (
        f"{rule('users: [x]')}\n  - {{name: a, users: [y]}}",
        "line 7, column 12: the rule 'a' is duplicate",
    ),
    "code": (f"{HEAD}x: !!python/object:os.system {{}}", "line 3, column 4: not YAML"),
}


@pytest.mark.parametrize(("text", "complaint"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_is_reported_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(PolicyInvalid) as caught:
        parse_document(text)
    assert str(caught.value).startswith(complaint)


def test_the_schema_describes_every_key() -> None:
    schema = document_schema()
    undescribed = [
        f"{name}.{key}"
        for name, definition in schema["$defs"].items()
        for key, value in definition.get("properties", {}).items()
        if "description" not in value and "$ref" not in value and "$ref" not in str(value)
    ]
    assert undescribed == []
