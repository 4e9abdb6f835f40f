"""The table of Kubernetes' types: how it is generated, and that it is consistent."""

import re
from typing import Any

from glasswarden.kube.builtin_types import BUILTIN_TYPES
from tests.kube.renew_builtin_types import META, render

QUANTITY = {"$ref": "#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity"}


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/definitions/{name}"}


def a_list(kind: str, *keys: str, of: dict[str, str] | None = None) -> dict[str, Any]:
    items = {"type": "array", "x-kubernetes-list-type": kind, "items": of or {"type": "string"}}
    return items | ({"x-kubernetes-list-map-keys": list(keys)} if keys else {})


def a_kind(group: str, version: str, kind: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "properties": {"metadata": ref(META), "status": ref("v1.Spec"), **fields},
        "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind}],
    }


DEFINITIONS = {
    META: {"properties": {"finalizers": a_list("set"), "managedFields": a_list("atomic")}},
    "v1.Pod": a_kind("", "v1", "Pod", spec=ref("v1.Spec")),
    "v1.Config": a_kind("", "v1", "Config", data={"additionalProperties": {"type": "string"}}),
    "v2.Pod": a_kind("x.io", "v2", "Pod", spec=ref("v2.Spec")),
    "v1.Review": a_kind("authorization.k8s.io", "v1", "Review", spec=ref("v1.Spec")),
    "v1.PodList": {"properties": {"items": a_list("atomic", of=ref("v1.Pod"))}},
    "v1.Spec": {
        "properties": {
            "containers": a_list("map", "name", "port", of=ref("v1.Container")),
            "hosts": a_list("map", "ip", of=ref("v1.Plain")),
            "plain": ref("v1.Plain"),
        }
    },
    "v2.Spec": {"properties": {"args": a_list("atomic")}},
    "v1.Container": {"properties": {"limits": {"additionalProperties": QUANTITY}}},
    "v1.Plain": {"properties": {"text": {"type": "string"}}},
}

TABLE = """\
v1 Config
v1 Pod
    spec v1.Spec
x.io/v2 Pod
    spec v2.Spec
Container
    limits *quantity
ObjectMeta
    finalizers set
v1.Spec
    containers [name,port] Container
    hosts [ip]
v2.Spec
    args atomic
"""


def test_generated_table_has_only_what_a_comparison_needs() -> None:
    assert TABLE in render(DEFINITIONS, "1.99").partition('BUILTIN_TYPES: Final = """\\\n')[2]


def test_every_type_is_described_and_every_description_is_used() -> None:
    titles = set(re.findall(r"^(\S+)$", BUILTIN_TYPES, re.MULTILINE))
    named = set(re.findall(r"^ .*?([A-Z]\w+)$", BUILTIN_TYPES, re.MULTILINE))
    assert titles == named | {"ObjectMeta"}
