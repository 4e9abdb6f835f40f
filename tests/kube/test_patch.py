"""`apply` and `lookup`: changes applied, and values found by their path."""

from typing import Any

import pytest

from glasswarden.kube.compare import ABSENT, value_at
from glasswarden.kube.diff import Change, find_changes
from glasswarden.kube.patch import ChangeMismatch, apply_changes
from glasswarden.kube.paths import parse_path
from tests.kube.builders import a_pod

OBJECT = {
    "map": {"a": 1, "b": {"c": 2}},
    "list": [{"name": "x", "v": 1}, {"name": "y", "v": 2}],
    "set": ["p", 2, True],
    "plain": [10, 20, 30],
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/", OBJECT),
        ("/map/b/c", 2),
        ("/list[name=y]/v", 2),
        ("/list[1]/v", 2),
        ("/set[=p]", "p"),
        ("/set[=true]", True),
        ("/plain[2]", 30),
        ("/plain[order]", [10, 20, 30]),
        ("/map/x", ABSENT),
        ("/map/a/x", ABSENT),
        ("/list[name=z]", ABSENT),
        ("/list[v=1,name=y]", ABSENT),
        ("/plain[3]", ABSENT),
        ("/map[0]", ABSENT),
        ("/list/name", ABSENT),
        ("/set[=false]", ABSENT),
    ],
)
def test_value_is_found_by_its_path(
    path: str,
    value: Any,  # noqa: ANN401 - any JSON value
) -> None:
    assert value_at(OBJECT, parse_path(path)) == value


def a_change(path: str, old: Any, new: Any, position: int | None = None) -> Change:  # noqa: ANN401
    return Change(parse_path(path), old, new, position=position)


@pytest.mark.parametrize(
    ("change", "path", "result"),
    [
        (a_change("/map/a", 1, 5), "/map", {"a": 5, "b": {"c": 2}}),
        (a_change("/map/a", 1, ABSENT), "/map", {"b": {"c": 2}}),
        (a_change("/map/n", ABSENT, 7), "/map", {"a": 1, "b": {"c": 2}, "n": 7}),
        (a_change("/list[name=x]/v", 1, 5), "/list[0]", {"name": "x", "v": 5}),
        (a_change("/list[name=x]", {}, ABSENT), "/list", [{"name": "y", "v": 2}]),
        (a_change("/set[=q]", ABSENT, "q"), "/set", ["p", 2, True, "q"]),
        (a_change("/set[=q]", ABSENT, "q", position=0), "/set", ["q", "p", 2, True]),
        (a_change("/set[=q]", ABSENT, "q", position=99), "/set", ["p", 2, True, "q"]),
        (a_change("/set[=true]", True, ABSENT), "/set", ["p", 2]),
        (a_change("/plain[0]", 10, ABSENT), "/plain", [20, 30]),
        (a_change("/plain[3]", ABSENT, 40), "/plain", [10, 20, 30, 40]),
        (
            a_change("/list[order]", ["[name=x]", "[name=y]"], ["[name=y]", "[name=x]"]),
            "/list",
            [{"name": "y", "v": 2}, {"name": "x", "v": 1}],
        ),
        (a_change("/", OBJECT, {"a": 1}), "/", {"a": 1}),
    ],
    ids=lambda value: str(value.path) if isinstance(value, Change) else "",
)
def test_change_is_applied(
    change: Change,
    path: str,
    result: Any,  # noqa: ANN401 - any JSON value
) -> None:
    made = apply_changes(OBJECT, [change])
    assert value_at(made, parse_path(path)) == result


@pytest.mark.parametrize(
    ("change", "at"),
    [
        (a_change("/map/x", 1, ABSENT), "/map/x"),
        (a_change("/map/x/y", 1, 2), "/map/x"),
        (a_change("/map/a/y", 1, 2), "/map/a"),
        (a_change("/map[0]", 1, 2), "/map[0]"),
        (a_change("/list[name=z]/v", 1, 2), "/list[name=z]"),
        (a_change("/list/name", 1, 2), "/list/name"),
        (a_change("/plain[9]", 1, 2), "/plain[9]"),
        (a_change("/list[order]", [], ["[name=z]"]), "[name=z]"),
    ],
    ids=lambda value: str(value.path) if isinstance(value, Change) else "",
)
def test_change_of_a_missing_value_is_rejected(change: Change, at: str) -> None:
    with pytest.raises(ChangeMismatch) as caught:
        apply_changes(OBJECT, [change])
    assert str(caught.value.path) == at


def test_unchanged_parts_are_shared_and_the_original_is_not_modified() -> None:
    made = apply_changes(OBJECT, [a_change("/map/b/c", 2, 3)])
    assert made["list"] is OBJECT["list"]
    assert OBJECT["map"] == {"a": 1, "b": {"c": 2}}


def test_changes_with_parsed_paths_can_be_applied() -> None:
    """Paths are parsed back from text; only the places of added items are lost with it."""
    old = a_pod(containers=[{"name": "a", "args": ["x"]}, {"name": "b"}])
    new = a_pod(
        containers=[{"name": "b", "image": "i"}, {"name": "a", "args": ["y"]}, {"name": "c"}]
    )
    read = [
        Change(parse_path(str(each.path)), each.old, each.new) for each in find_changes(old, new)
    ]
    assert apply_changes(old, read) == new
