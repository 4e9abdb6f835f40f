"""The declared fields against the live ones: what is a difference, and what only looks like one."""

from typing import Any

import pytest

from glasswarden.kube.objects import Object
from tests.correlator.builders import fields
from tests.kube.builders import a_custom_object, a_deployment, an_entry, an_object, managed_by


def a_container(**fields: Any) -> Object:  # noqa: ANN401 - any JSON value
    return a_deployment({"name": "app", **fields})


def a_config(**data: str) -> Object:
    return an_object("v1/ConfigMap", data=data)


def a_secret(**fields: Any) -> Object:  # noqa: ANN401 - any JSON value
    return an_object("v1/Secret", **fields)


def a_service(*ports: Object) -> Object:
    return an_object("v1/Service", spec={"ports": list(ports)})


def a_network_policy(**egress: Any) -> Object:  # noqa: ANN401 - any JSON value
    return an_object("networking.k8s.io/v1/NetworkPolicy", spec={"egress": [egress]})


APP = "/spec/template/spec/containers[name=app]"

SAME = [
    pytest.param(a_deployment(), a_deployment(replicas=1, strategy={"type": "x"}), id="defaults"),
    pytest.param(
        a_container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
        a_container(resources={"limits": {"cpu": "1000m", "memory": "1024Mi"}}),
        id="quantities",
    ),
    pytest.param(
        a_container(resources={"limits": {"cpu": 1}}),
        a_container(resources={"limits": {"cpu": "1"}}),
        id="a quantity written as a number",
    ),
    pytest.param(
        a_service({"port": 80, "targetPort": "8080"}),
        a_service({"port": 80, "protocol": "TCP", "targetPort": 8080}),
        id="int-or-string, and a merge key that is filled in",
    ),
    pytest.param(
        a_service({"port": 53, "protocol": "UDP"}, {"port": 53}),
        a_service({"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}),
        id="one port, two protocols",
    ),
    pytest.param(
        a_secret(stringData={"key": "secret"}), a_secret(data={"key": "c2VjcmV0"}), id="stringData"
    ),
    pytest.param(
        a_secret(data={"key": "c2Vj\ncmV0\n"}),
        a_secret(data={"key": "c2VjcmV0"}),
        id="base64 with line breaks",
    ),
    pytest.param(
        a_secret(data={"key": "b2xk"}, stringData={"key": "secret"}),
        a_secret(data={"key": "c2VjcmV0"}),
        id="stringData wins over data",
    ),
    pytest.param(a_container(command=None), a_container(), id="null declares nothing"),
    pytest.param(a_container(args=[], env=[]), a_container(), id="empty lists"),
    pytest.param(a_deployment(paused=False), a_deployment(), id="false"),
    pytest.param(
        a_container(env=[{"name": "A", "value": ""}]),
        a_container(env=[{"name": "A"}]),
        id="empty text",
    ),
    pytest.param(
        an_object(labels={}, metadata={"annotations": {}, "creationTimestamp": None}),
        an_object(),
        id="empty maps, and what scaffolding leaves",
    ),
    pytest.param(
        an_object(status={"replicas": 1}), an_object(status={"replicas": 3}), id="the status"
    ),
    pytest.param(
        a_deployment({"name": "a"}, {"name": "b"}),
        a_deployment({"name": "b"}, {"name": "a"}),
        id="the order of containers",
    ),
    pytest.param(
        an_object(metadata={"finalizers": ["a", "b"]}),
        an_object(metadata={"finalizers": ["b", "c", "a"]}),
        id="a set",
    ),
    pytest.param(
        an_object(
            "networking.k8s.io/v1/NetworkPolicy", spec={"egress": [{"ports": [{"port": 1}]}]}
        ),
        an_object(
            "networking.k8s.io/v1/NetworkPolicy",
            spec={"egress": [{"ports": [{"port": 1, "protocol": "TCP"}]}]},
        ),
        id="a default inside an atomic list",
    ),
]


@pytest.mark.parametrize(("declared", "live"), SAME)
def test_equivalent_values_are_no_difference(declared: Object, live: Object) -> None:
    assert fields(declared, live) == {}


DIFFERENT = [
    pytest.param(
        a_container(image="web:1"),
        a_container(image="web:2"),
        {f"{APP}/image": ("web:1", "web:2")},
        id="a value",
    ),
    pytest.param(
        a_container(resources={"limits": {"cpu": "1"}}),
        a_container(resources={"limits": {"cpu": "2000m"}}),
        {f"{APP}/resources/limits/cpu": ("1", "2000m")},
        id="another amount",
    ),
    pytest.param(
        a_container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
        a_container(env=[{"name": "B", "value": "3"}]),
        {
            f"{APP}/env[name=A]": ({"name": "A", "value": "1"}, None),
            f"{APP}/env[name=B]/value": ("2", "3"),
        },
        id="an item that is gone, and one that changed",
    ),
    pytest.param(
        a_deployment({"name": "app"}, {"name": "proxy"}),
        a_deployment({"name": "app"}),
        {"/spec/template/spec/containers[name=proxy]": ({"name": "proxy"}, None)},
        id="a container that is gone",
    ),
    pytest.param(
        a_container(args=["a", "b"]),
        a_container(args=["a", "c"]),
        {f"{APP}/args": (["a", "b"], ["a", "c"])},
        id="a list of plain values",
    ),
    pytest.param(
        a_container(env=[{"name": "A"}, {"name": "B"}]),
        a_container(env=[{"name": "B"}, {"name": "A"}]),
        {f"{APP}/env[order]": (["[name=A]", "[name=B]"], ["[name=B]", "[name=A]"])},
        id="the order of variables",
    ),
    pytest.param(
        a_container(securityContext={"runAsNonRoot": False}),
        a_container(securityContext={}),
        {f"{APP}/securityContext/runAsNonRoot": (False, None)},
        id="a false that is remembered",
    ),
    pytest.param(
        an_object(
            "networking.k8s.io/v1/NetworkPolicy", spec={"egress": [{"to": [{"podSelector": {}}]}]}
        ),
        an_object(
            "networking.k8s.io/v1/NetworkPolicy", spec={"egress": [{"to": [{"ipBlock": {}}]}]}
        ),
        {"/spec/egress[0]/to[0]/podSelector": ({}, None)},
        id="an empty selector, which selects all",
    ),
    pytest.param(a_config(a=""), a_config(), {"/data/a": ("", None)}, id="an empty entry of a map"),
    pytest.param(
        a_config(a="1.0"), a_config(a="1"), {"/data/a": ("1.0", "1")}, id="text is no quantity"
    ),
    pytest.param(
        an_object(metadata={"finalizers": ["a", "b"]}),
        an_object(metadata={"finalizers": ["a"]}),
        {"/metadata/finalizers[=b]": ("b", None)},
        id="a member of a set",
    ),
    pytest.param(
        a_deployment(replicas=3),
        a_deployment(replicas=0),
        {"/spec/replicas": (3, 0)},
        id="scaled to nothing",
    ),
    pytest.param(
        a_deployment(replicas=0),
        a_deployment(replicas=3),
        {"/spec/replicas": (0, 3)},
        id="scaled from nothing",
    ),
    pytest.param(
        a_custom_object(spec={"items": [{"name": "a"}], "empty": {}, "flag": False}),
        a_custom_object(spec={"items": [{"name": "b"}], "flag": 0}),
        {
            "/spec/items[0]/name": ("a", "b"),
            "/spec/empty": ({}, None),
            "/spec/flag": (False, 0),
        },
        id="a custom resource, to the letter",
    ),
]


@pytest.mark.parametrize(("declared", "live", "expected"), DIFFERENT)
def test_different_values_are_a_difference(
    declared: Object, live: Object, expected: dict[str, object]
) -> None:
    assert fields(declared, live) == expected


def test_merge_keys_of_a_custom_resource_are_read_from_managed_fields() -> None:
    declared = a_custom_object(spec={"rules": [{"id": "a", "x": 1}, {"id": "b", "x": 2}]})
    live = a_custom_object(spec={"rules": [{"id": "b", "x": 3}, {"id": "a", "x": 1}]})
    held = managed_by(live, an_entry("applier", "/spec/rules[id=b]/x", operation="Apply"))
    assert fields(declared, held) == {"/spec/rules[id=b]/x": (2, 3)}


def test_empty_value_defaulted_by_the_api_server_is_no_difference() -> None:
    declared = a_container(imagePullPolicy="")
    live = a_container(imagePullPolicy="IfNotPresent")
    applied = an_entry("applier", f"{APP}/imagePullPolicy", operation="Apply")
    assert fields(declared, managed_by(live, applied)) == {}


def test_empty_value_newly_declared_is_a_difference() -> None:
    """The owner still holds what it applied before."""
    live = managed_by(
        a_deployment(paused=True), an_entry("applier", "/spec/paused", operation="Apply")
    )
    assert fields(a_deployment(paused=False), live) == {"/spec/paused": (False, True)}


def test_empty_value_overwritten_by_a_person_is_a_difference() -> None:
    declared = a_deployment(paused=False)
    live = managed_by(a_deployment(paused=True), an_entry("kubectl-edit", "/spec/paused"))
    assert fields(declared, live) == {"/spec/paused": (False, True)}


def test_comparison_cost_grows_linearly_with_the_object() -> None:
    """Ten thousand variables take as long, each, as a few."""
    variables = [{"name": f"V{index}", "value": "x"} for index in range(10_000)]
    changed = [*variables[:-1], {"name": "V9999", "value": "y"}]
    found = fields(a_container(env=variables), a_container(env=changed))
    assert found == {f"{APP}/env[name=V9999]/value": ("x", "y")}
