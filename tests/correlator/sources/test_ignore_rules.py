"""`sources.ignores`: what an Application ignores."""

from dataclasses import replace

import pytest

from correlator.finding import Finding, Incomplete
from correlator.sources.ignore_rules import (
    Ignore,
    ignores_of,
    pattern_of_jq,
    pattern_of_pointer,
    system_ignores_of,
)
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import parse_path
from tests.correlator.builders import found
from tests.correlator.classify.test_rules import a_finding
from tests.kube.builders import a_deployment, an_object

APPLICATION = Owner("argocd", "shop", "argocd", "Application")
OWNED = Owner("argocd", "shop", None, "Application")
IMAGE = "/spec/template/spec/containers[name=app]/image"


def parsed(**entry: object) -> list[Ignore | Incomplete]:
    spec = {"ignoreDifferences": [{"group": "apps", "kind": "Deployment", **entry}]}
    kind = "argoproj.io/v1alpha1/Application"
    return list(
        ignores_of(an_object(kind, name="shop", namespace="argocd", spec=spec), APPLICATION)
    )


def is_ignored(finding: Finding, **entry: object) -> bool:
    return any(isinstance(each, Ignore) and each.covers(finding) for each in parsed(**entry))


def owned(field: str = "/spec/replicas", by: str = "kubectl") -> Finding:
    return a_finding(field, 3, 5, owner=OWNED, by=by)


RULES: list[tuple[Object, bool]] = [
    ({"jsonPointers": ["/spec/replicas"]}, True),
    ({"jsonPointers": ["/spec"]}, True),
    ({"jsonPointers": ["/spec/replicas/x"]}, False),
    ({"jsonPointers": ["/spec/paused"]}, False),
    ({"jqPathExpressions": [".spec.replicas"]}, True),
    ({"managedFieldsManagers": ["kubectl"]}, True),
    ({"managedFieldsManagers": ["other"]}, False),
    ({"jsonPointers": ["/spec/replicas"], "name": "web", "namespace": "prod"}, True),
    ({"jsonPointers": ["/spec/replicas"], "name": "other"}, False),
    ({"jsonPointers": ["/spec/replicas"], "namespace": "other"}, False),
    ({"jsonPointers": ["/spec/replicas"], "group": "*", "kind": "*"}, True),
    ({"jsonPointers": ["/spec/replicas"], "kind": "StatefulSet"}, False),
]


@pytest.mark.parametrize(("entry", "expected"), RULES, ids=str)
def test_rule_covers_what_argocd_ignores(entry: Object, *, expected: bool) -> None:
    assert is_ignored(owned(), **entry) is expected


def test_rule_does_not_cover_objects_of_another_application() -> None:
    other = a_finding("/spec/replicas", 3, 5, owner=Owner("argocd", "other", None, "Application"))
    assert not is_ignored(other, jsonPointers=["/spec/replicas"])


JQ = [
    (".spec.replicas", "/spec/replicas"),
    ('.metadata.annotations["a.b/c"]', "/metadata/annotations/a.b~1c"),
    (".spec.template.spec.containers[].image", "/spec/template/spec/containers[*]/image"),
    (".webhooks[]?.clientConfig.caBundle", "/webhooks[*]/clientConfig/caBundle"),
    (".spec.rules[0].host", "/spec/rules[0]/host"),
    ('.spec.template.spec.containers[] | select(.name == "app").image', IMAGE),
    ('.spec.template.spec.containers[] | select(.name=="app") | .image', IMAGE),
]


@pytest.mark.parametrize(("expression", "pattern"), JQ)
def test_jq_path_becomes_a_pattern(expression: str, pattern: str) -> None:
    assert str(pattern_of_jq(expression)) == pattern


@pytest.mark.parametrize(
    "expression", ["..", "paths(type == 1)", ".a | length", '.a | select(.b == "c")', ".a,.b"]
)
def test_unsupported_jq_expression_is_incomplete(expression: str) -> None:
    [incomplete, ignore] = parsed(jqPathExpressions=[expression])
    assert isinstance(incomplete, Incomplete)
    assert expression in incomplete.why
    assert isinstance(ignore, Ignore)
    assert ignore.fields == ()


@pytest.mark.parametrize(
    ("pointer", "path"),
    [
        ("/spec/replicas", "/spec/replicas"),
        ("/metadata/annotations/a~1b", "/metadata/annotations/a~1b"),
        ("/spec/rules/0/host", "/spec/rules[0]/host"),
    ],
)
def test_json_pointer_becomes_a_pattern(pointer: str, path: str) -> None:
    assert pattern_of_pointer(pointer).matches(parse_path(path))


@pytest.mark.parametrize("spec", [None, {}, {"ignoreDifferences": 1}, {"ignoreDifferences": ["x"]}])
def test_a_malformed_list_ignores_nothing(spec: object) -> None:
    application = an_object("argoproj.io/v1alpha1/Application", spec=spec)
    assert list(ignores_of(application, APPLICATION)) == []


def numbered(field: str, by_number: str) -> Finding:
    return replace(owned(field), numbered=parse_path(by_number))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"jsonPointers": ["/spec/template/spec/containers/1/image"]}, True),
        ({"jsonPointers": ["/spec/template/spec/containers/0/image"]}, False),
        ({"jqPathExpressions": [".spec.template.spec.containers[1].image"]}, True),
    ],
    ids=str,
)
def test_list_items_can_be_named_by_their_index(entry: Object, *, expected: bool) -> None:
    finding = numbered(IMAGE, "/spec/template/spec/containers[1]/image")
    assert is_ignored(finding, **entry) is expected


def test_index_of_an_item_is_that_of_the_live_object() -> None:
    live = a_deployment({"name": "proxy"}, {"name": "app", "image": "b"})
    [finding] = found(a_deployment({"name": "app", "image": "a"}), live)
    assert str(finding.numbered) == "/spec/template/spec/containers[1]/image"


def system(**entries: str) -> list[Ignore | Incomplete]:
    prefix = "resource.customizations.ignoreDifferences."
    data = {f"{prefix}{key}": text for key, text in entries.items()}
    return list(system_ignores_of(an_object("v1/ConfigMap", data={"url": "x", **data}), "argocd"))


@pytest.mark.parametrize(
    ("key", "expected"), [("apps_Deployment", True), ("all", True), ("apps_StatefulSet", False)]
)
def test_system_wide_rule_covers_its_kinds(key: str, *, expected: bool) -> None:
    [rule] = system(**{key: "jsonPointers:\n- /spec/replicas\n"})
    assert isinstance(rule, Ignore)
    assert rule.covers(owned()) is expected
    assert ("all of Argo CD" in rule.why(owned())) is expected


def test_malformed_system_wide_rule_is_incomplete() -> None:
    [said] = system(all="a: b: c")
    assert isinstance(said, Incomplete)
