"""`build_json_patch`: applied as RFC 6902 says, it makes the new version of the old."""

import pytest
from hypothesis import given

from glasswarden.kube.equality import is_identical
from glasswarden.kube.objects import Object
from glasswarden.kube.patch import build_json_patch
from tests.json_patches import apply_patch
from tests.kube.strategies import json_maps


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a": None}, {}, [{"op": "remove", "path": "/a"}]),
        ({}, {"a": None}, [{"op": "add", "path": "/a", "value": None}]),
        ({"a": {"b": 1}}, {"a": {}}, [{"op": "remove", "path": "/a/b"}]),
        ({"a": {}}, {"a": {"x/y~z": 1}}, [{"op": "add", "path": "/a/x~1y~0z", "value": 1}]),
        ({"a": {"": 1}}, {"a": {"": 2}}, [{"op": "replace", "path": "/a/", "value": 2}]),
        ({"a": [1, 2]}, {"a": [2]}, [{"op": "replace", "path": "/a", "value": [2]}]),
        ({"a": {"b": 1}}, {"a": [1]}, [{"op": "replace", "path": "/a", "value": [1]}]),
    ],
    ids=[
        "nothing", "replace", "true is not 1", "remove", "add", "last field", "escapes",
        "empty key", "list", "type",
    ],
)  # fmt: skip
def test_one_difference_is_one_operation(old: Object, new: Object, patch: list[Object]) -> None:
    assert build_json_patch(old, new) == patch


@given(json_maps, json_maps)
def test_patch_turns_the_old_version_into_the_new(old: Object, new: Object) -> None:
    assert is_identical(apply_patch(old, build_json_patch(old, new)), new)
