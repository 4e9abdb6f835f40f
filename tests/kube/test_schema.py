"""`schema`: what Kubernetes' own types say about a field."""

import pytest

from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import Key, parse_path
from glasswarden.kube.schema import Items, KeyedItems, Meaning, Shape, shape_of

POD_SPEC = "/spec/template/spec"


def shape_at(kind: str, path: str) -> Shape:
    api_version, _, kind = kind.rpartition("/")
    group, _, version = api_version.rpartition("/")
    shape = shape_of(Ref(group, version, kind, "", ""))
    for step in parse_path(path).steps:
        shape = shape.at(step.name) if isinstance(step, Key) else shape.item
    return shape


@pytest.mark.parametrize(
    ("kind", "path", "items"),
    [
        ("apps/v1/Deployment", f"{POD_SPEC}/containers", KeyedItems(("name",))),
        ("apps/v1/Deployment", f"{POD_SPEC}/initContainers[0]/env", KeyedItems(("name",))),
        (
            "apps/v1/Deployment",
            f"{POD_SPEC}/containers[0]/volumeMounts",
            KeyedItems(("mountPath",)),
        ),
        (
            "apps/v1/Deployment",
            f"{POD_SPEC}/containers[0]/ports",
            KeyedItems(("containerPort", "protocol")),
        ),
        ("apps/v1/Deployment", f"{POD_SPEC}/containers[0]/args", "atomic"),
        ("apps/v1/Deployment", f"{POD_SPEC}/tolerations", "atomic"),
        ("apps/v1/Deployment", f"{POD_SPEC}/volumes", KeyedItems(("name",))),
        ("apps/v1/Deployment", f"{POD_SPEC}/hostAliases", KeyedItems(("ip",))),
        ("apps/v1/Deployment", f"{POD_SPEC}/imagePullSecrets", KeyedItems(("name",))),
        ("batch/v1/CronJob", f"/spec/jobTemplate{POD_SPEC}/containers", KeyedItems(("name",))),
        ("v1/Pod", "/spec/containers", KeyedItems(("name",))),
        ("v1/Service", "/spec/ports", KeyedItems(("port", "protocol"))),
        ("v1/ServiceAccount", "/imagePullSecrets", "atomic"),
        ("networking.k8s.io/v1/Ingress", "/spec/rules", "atomic"),
        ("v1/ConfigMap", "/metadata/ownerReferences", KeyedItems(("uid",))),
        ("v1/ConfigMap", "/metadata/finalizers", "set"),
        ("example.com/v1/Widget", "/metadata/finalizers", "set"),
        ("example.com/v1/Widget", "/spec/containers", None),
    ],
)
def test_schema_gives_the_merge_keys_of_lists(kind: str, path: str, items: Items | None) -> None:
    assert shape_at(kind, path).items == items


@pytest.mark.parametrize(
    ("kind", "path", "meaning"),
    [
        ("v1/Pod", "/spec/containers[0]/resources/limits/cpu", "quantity"),
        ("v1/Pod", "/spec/containers[0]/resources/requests/example.com~1gpu", "quantity"),
        ("v1/PersistentVolumeClaim", "/spec/resources/requests/storage", "quantity"),
        ("v1/ResourceQuota", "/spec/hard/pods", "quantity"),
        ("v1/Pod", "/spec/containers[0]/livenessProbe/httpGet/port", "int-or-string"),
        ("v1/Service", "/spec/ports[0]/targetPort", "int-or-string"),
        ("apps/v1/Deployment", "/spec/strategy/rollingUpdate/maxSurge", "int-or-string"),
        ("policy/v1/PodDisruptionBudget", "/spec/minAvailable", "int-or-string"),
        ("v1/Service", "/spec/ports[0]/port", None),
        ("v1/ConfigMap", "/data/cpu", None),
        ("example.com/v1/Widget", "/spec/resources/limits/cpu", None),
    ],
)
def test_schema_gives_the_meaning_of_fields(kind: str, path: str, meaning: Meaning | None) -> None:
    assert shape_at(kind, path).meaning == meaning


def test_schema_is_typed_for_builtin_kinds_only() -> None:
    assert shape_at("apps/v1/Deployment", "/spec/replicas").typed
    assert shape_at("example.com/v1/Widget", "/metadata/labels").typed
    assert not shape_at("example.com/v1/Widget", "/spec/a/b[0]").typed
