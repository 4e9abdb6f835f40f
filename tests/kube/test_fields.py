"""`fields`: fields added or removed together are separated, as far as their type allows."""

import pytest

from glasswarden.kube.diff import find_changed_fields, find_changes
from glasswarden.kube.objects import Object, ref_of
from tests.kube.builders import a_custom_object, a_deployment, a_pod, an_object

APP = "/spec/template/spec/containers[name=app]"


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        (an_object(), an_object(labels={"a": "1", "b": "2"}), ["a", "b"]),
        (an_object(labels={"a": "1"}), an_object(), ["a"]),
        (an_object(labels={"a": "1"}), an_object(labels={"a": "2"}), ["a"]),
    ],
    ids=["came", "went", "changed"],
)
def test_each_label_is_a_field_of_its_own(old: Object, new: Object, fields: list[str]) -> None:
    found = find_changed_fields(ref_of(new), find_changes(old, new))
    assert [str(path) for path in found] == [f"/metadata/labels/{name}" for name in fields]


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        (
            a_deployment(),
            a_deployment({"name": "app", "env": [{"name": "A"}, {"name": "B"}]}),
            [f"{APP}/env[name=A]", f"{APP}/env[name=B]"],
        ),
        (
            a_deployment(),
            a_deployment({"name": "app", "env": [{"name": "A"}, {"name": "A"}]}),
            [f"{APP}/env"],
        ),
        (a_deployment(), a_deployment({"name": "app", "args": ["x"]}), [f"{APP}/args"]),
        (a_deployment(), a_deployment({"name": "app", "env": []}), [f"{APP}/env"]),
        (
            a_deployment(),
            a_deployment({"name": "app", "livenessProbe": {"tcpSocket": {"port": 1}}}),
            [f"{APP}/livenessProbe"],
        ),
        (
            an_object(),
            an_object(metadata={"finalizers": ["a", "b"]}),
            ["/metadata/finalizers[=a]", "/metadata/finalizers[=b]"],
        ),
        (a_pod(), a_pod(nodeSelector={"zone": "a"}), ["/spec/nodeSelector/zone"]),
        (a_custom_object(spec={}), a_custom_object(spec={"l": [{"name": "a"}]}), ["/spec/l"]),
    ],
    ids=[
        "associative list", "keys that repeat", "atomic list", "empty list", "struct", "set",
        "map of a pod", "unknown type",
    ],
)  # fmt: skip
def test_each_keyed_list_item_is_a_field_of_its_own(
    old: Object, new: Object, fields: list[str]
) -> None:
    assert list(map(str, find_changed_fields(ref_of(new), find_changes(old, new)))) == fields
