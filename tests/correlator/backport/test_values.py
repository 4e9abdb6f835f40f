"""One field set in a value, by the path that a record gives it."""

from typing import Any

import pytest

from correlator.backport.edit import found_at, location_of, set_value
from correlator.backport.errors import CannotPlace
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.paths import parse_path

CASES: dict[str, tuple[Any, str, Any, Any, Any]] = {
    "a field": ({"a": {"b": 1}}, "/a/b", 2, {}, {"a": {"b": 2}}),
    "what is missing is made": ({}, "/a/b/c", 1, {}, {"a": {"b": {"c": 1}}}),
    "a field is taken away": ({"a": {"b": 1, "c": 2}}, "/a/b", ABSENT, {}, {"a": {"c": 2}}),
    "nothing is made to take it away": ({}, "/a/b", ABSENT, {}, {}),
    "an item by its key": (
        {"e": [{"name": "a", "v": 1}]},
        "/e[name=a]/v",
        2,
        {},
        {"e": [{"name": "a", "v": 2}]},
    ),
    "a key that the API server filled in": (
        {"ports": [{"port": 80}]},
        "/ports[port=80,protocol=TCP]/targetPort",
        8080,
        {},
        {"ports": [{"port": 80, "targetPort": 8080}]},
    ),
    "a new item where it is live": (
        {"e": [{"name": "a"}, {"name": "c"}]},
        "/e[name=b]",
        {"name": "b"},
        {"e": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
        {"e": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
    ),
    "a new item that is first": (
        {"e": [{"name": "c"}]},
        "/e[name=b]",
        {"name": "b"},
        {"e": [{"name": "b"}, {"name": "c"}]},
        {"e": [{"name": "b"}, {"name": "c"}]},
    ),
    "an item is taken away": (
        {"e": [{"name": "a"}, {"name": "b"}]},
        "/e[name=a]",
        ABSENT,
        {},
        {"e": [{"name": "b"}]},
    ),
    "a value of a set": ({"f": ["x"]}, "/f[=y]", "y", {}, {"f": ["x", "y"]}),
}


@pytest.mark.parametrize(("value", "path", "new", "live", "expected"), CASES.values(), ids=CASES)
def test_one_value_is_set(value: Any, path: str, new: Any, live: Any, expected: Any) -> None:  # noqa: ANN401
    assert set_value(value, parse_path(path).steps, new, live) == expected


@pytest.mark.parametrize("path", ["/a[order]", "/s/x", "/a[5]"])
def test_field_without_a_place_in_the_values_is_rejected(path: str) -> None:
    with pytest.raises(CannotPlace):
        set_value({"a": [1], "s": "text"}, parse_path(path).steps, 1)


def test_path_is_split_into_keys_and_positions() -> None:
    value = {"e": [{"name": "a"}, {"name": "b", "v": 1}]}
    steps = parse_path("/e[name=b]/v").steps
    assert location_of(value, steps) == ("e", 1, "v")
    assert found_at(value, steps) == 1
    assert found_at(value, parse_path("/e[name=x]").steps) is ABSENT
