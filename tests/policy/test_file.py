"""A policy file is read strictly, and a mistake in it is named with its place."""

import pytest

from glasswarden.policy.document import EMPTY
from glasswarden.policy.file import PolicyInvalid, document_schema, parse_document
from glasswarden.policy.mode import Mode

HEAD = "apiVersion: glasswarden.io/v1\nkind: Policy\n"


def test_a_file_that_says_nothing_has_every_default() -> None:
    assert parse_document(HEAD) == EMPTY


def test_everything_that_can_be_said() -> None:
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
  - {name: scaler, actors: [scaler], kinds: [Deployment], fields: [/spec/replicas],
     operations: [UPDATE, DELETE]}
defaultDelegations: false
benign: [rollout-restart, rollout-pause, rollout-undo]
reservedNamespaces: ["gitops-*"]
detach: {users: [root], groups: [platform]}
sensitive:
  - {kinds: [ConfigMap], fields: [/data/token]}
emergencyGroup: firefighters
"""
    )
    assert (document.cluster, document.mode, document.reconcilers) == (
        "prod-eu",
        Mode.WARN,
        Mode.ENFORCE,
    )
    assert document.engines.argocd.installation_id == "one"


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
        "line 4, column 1: the key 'mode' stands here twice",
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
        "line 5, column 12: the marker 'x' stands here twice",
    ),
    "code": (f"{HEAD}x: !!python/object:os.system {{}}", "line 3, column 4: not YAML"),
}


@pytest.mark.parametrize(("text", "complaint"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_place(text: str, complaint: str) -> None:
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
