"""`equality`: the same JSON, at any depth."""

from typing import Any

import pytest
from hypothesis import given

from glasswarden.kube.equality import is_identical, is_surely_equal
from tests.kube.strategies import jsons


def nested(leaf: object, depth: int = 20_000) -> Any:  # noqa: ANN401 - any JSON value
    value = leaf
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ([1], [True], False),
        ({"a": [0]}, {"a": [False]}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ({"a": None}, {}, False),
        ({}, [], False),
        (["\ud800"], ["\ud800"], True),
        (2**70, 2**70, True),
    ],
)
def test_values_are_identical_as_json(
    one: Any,  # noqa: ANN401 - any JSON value
    other: Any,  # noqa: ANN401 - any JSON value
    same: bool,  # noqa: FBT001 - an expectation
) -> None:
    assert is_identical(one, other) == same


@given(jsons, jsons)
def test_identical_agrees_with_python_except_for_booleans(one: Any, other: Any) -> None:  # noqa: ANN401
    assert is_identical(one, one)
    assert is_identical(one, other) <= (one == other)
    assert is_identical(one, other) == is_identical(other, one)


def test_deeply_nested_values_are_compared() -> None:
    assert is_identical(nested(1), nested(1))
    assert not is_identical(nested(1), nested(2))


def test_deeply_nested_values_are_not_surely_equal() -> None:
    assert is_surely_equal(nested(1, depth=10), nested(1, depth=10))
    assert not is_surely_equal(nested(1), nested(1))
