"""`live.cluster`: answers that a server behind an API group may give, from a test server.

The real API server's answers are for `tests/cluster`; these are those of others.
"""

import json
from typing import Any, cast

import pytest

from correlator.classify.rule import Scene
from correlator.declared.manifests import Declared, Manifests
from correlator.detector.detect import Detector
from correlator.finding import Hidden, Incomplete, Result
from correlator.inspection.scan import PROGRESS_EVERY, Progress, Scan
from correlator.live.cluster import ClusterLive
from correlator.live.source import Kind, KindUnavailable, Scope
from glasswarden.cluster.client import ApiServer, ApiServerError, Forbidden, NotFound
from glasswarden.kube.objects import Object, Ref
from glasswarden.policy.policy import DEFAULT
from tests.correlator.classify.test_rules import NOW
from tests.kube.builders import an_object

CONFIG = Kind("", "v1", "ConfigMap")
RESOURCE = {
    "resource": "configmaps",
    "responseKind": {"kind": "ConfigMap"},
    "scope": "Namespaced",
    "verbs": ["list", "delete"],
}
SERVED = {"items": [{"metadata": {}, "versions": [{"version": "v1", "resources": [RESOURCE]}]}]}


class Server:
    """Gives the configured answer for each path."""

    def __init__(self, **answers: Any) -> None:  # noqa: ANN401 - any JSON value
        told = {
            path.replace("__dot__", ".").replace("__", "/"): answer
            for path, answer in answers.items()
        }
        self.answers = {"api": SERVED, "apis": {}, **told}

    def fetch(self, path: str, accept: str = "") -> bytes:  # noqa: ARG002 - as it is asked
        answer = self.answers.get(path.partition("?")[0].removeprefix("/"), NotFound(path))
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


def live(**answers: Any) -> ClusterLive:  # noqa: ANN401 - any JSON value
    return ClusterLive(cast("ApiServer", Server(**answers)), Scope())


def a_list(*names: str, namespace: str = "prod") -> Object:
    items = [{"metadata": {"name": name, "namespace": namespace}} for name in names]
    return {"metadata": {"resourceVersion": "7"}, "items": items}


def test_list_is_read_as_its_objects() -> None:
    asked = live(api__v1__configmaps=a_list("a", "b"))
    found = list(asked.objects(CONFIG, frozenset()))
    assert [(each["kind"], each["metadata"]["name"]) for each in found] == [
        ("ConfigMap", "a"),
        ("ConfigMap", "b"),
    ]
    assert asked.versions == {CONFIG: "7"}


NO_LISTS = [
    b"<html>a gateway's</html>",
    b"",
    b"[]",
    {"kind": "Status"},
    {"metadata": None, "items": []},
    {"metadata": {}, "items": [None]},
    {"metadata": {}, "items": {"a": 1}},
]


@pytest.mark.parametrize("answer", NO_LISTS)
def test_invalid_list_makes_its_kind_incomplete(answer: object) -> None:
    with pytest.raises(KindUnavailable, match="what is served is no list"):
        list(live(api__v1__configmaps=answer).objects(CONFIG, frozenset()))


@pytest.mark.parametrize("answer", [b"<html>", b"[" * 5000 + b"]" * 5000], ids=["HTML", "abyss"])
def test_invalid_object_does_not_affect_others(answer: bytes) -> None:
    asked = live(api__v1__namespaces__prod__configmaps__a=answer)
    with pytest.raises(KindUnavailable, match="no object"):
        asked.one(Ref("", "v1", "ConfigMap", "prod", "a"))


@pytest.mark.parametrize("answer", [b"<html>", {"items": [1]}, {"items": [{"versions": [{}]}]}])
def test_invalid_discovery_document_is_reported(answer: object) -> None:
    with pytest.raises(ApiServerError, match="does not tell"):
        live(apis=answer)


class TestRightsByNamespace:
    """Where not all may be listed, what may be is."""

    @staticmethod
    def scanned(namespaces: str, **answers: Any) -> Result:  # noqa: ANN401 - any JSON value
        """Return what is found where all of *namespaces* declare an object called x."""
        declared = [an_object("v1/ConfigMap", name="x", namespace=each) for each in namespaces]
        manifests = Manifests(tuple(Declared(each, "a.yaml:1") for each in declared))
        asked = live(api__v1__configmaps=Forbidden("no"), **answers)
        scan = Scan(Detector(DEFAULT, ""), manifests, asked)
        scan.run()
        return scan.result(scan.scene(Scene(DEFAULT, NOW)))

    def test_forbidden_namespace_does_not_affect_others(self) -> None:
        result = self.scanned(
            "abc",
            api__v1__namespaces__a__configmaps=Forbidden("no"),
            api__v1__namespaces__b__configmaps=a_list("x", namespace="b"),
            api__v1__namespaces__c__configmaps=a_list(),
        )
        assert [str(each.ref) for each in result.findings] == ["ConfigMap c/x"]
        assert [(each.what, each.hides) for each in result.incomplete if "(v1)" in each.what] == [
            ("ConfigMap (v1) in a", Hidden.ANY)
        ]

    def test_orphans_are_incomplete_with_rights_by_namespace(self) -> None:
        result = self.scanned("b", api__v1__namespaces__b__configmaps=a_list("x", namespace="b"))
        assert [(each.what, each.hides) for each in result.incomplete if "(v1)" in each.what] == [
            ("orphans of ConfigMap (v1)", Hidden.ORPHANS)
        ]

    def test_kind_forbidden_in_every_namespace_is_incomplete(self) -> None:
        result = self.scanned("a", api__v1__namespaces__a__configmaps=Forbidden("no"))
        assert result.incomplete == (Incomplete("ConfigMap (v1)", "no right to list it"),)


def test_progress_is_reported_within_a_large_kind() -> None:
    names = [str(number) for number in range(PROGRESS_EVERY + 1)]
    declared = Declared(an_object("v1/ConfigMap", name="1"), "a.yaml:1")
    told: list[Progress] = []
    asked = live(api__v1__configmaps=a_list(*names))
    Scan(Detector(DEFAULT, ""), Manifests((declared,)), asked, told.append).run()
    assert told == [
        Progress(0, 1, 0),
        Progress(0, 1, PROGRESS_EVERY),
        Progress(1, 1, PROGRESS_EVERY + 1),
    ]
