"""`depth`: JSON of any depth is read, as far down as anybody looks."""

import json
from typing import Any

import pytest
from hypothesis import given

from glasswarden.kube.objects import DEEPEST_READ, decode_pruned, is_nested_beyond
from tests.kube.strategies import jsons


def nested(levels: int, inner: str = "0") -> str:
    return "[" * levels + inner + "]" * levels


@given(value=jsons)
def test_what_is_not_deep_is_decoded_as_ever(value: Any) -> None:  # noqa: ANN401 - any JSON value
    assert decode_pruned(json.dumps(value).encode()) == value


@given(value=jsons)
def test_what_stands_beside_a_deep_value_is_not_touched(value: Any) -> None:  # noqa: ANN401
    text = json.dumps([value, "DEEP", value]).replace('"DEEP"', nested(5000))
    first, deep, last = decode_pruned(text.encode())
    assert (first, last) == (value, value)
    assert not is_nested_beyond(deep, DEEPEST_READ)


@pytest.mark.parametrize("text", ["]}[{", '"', '\\"[', "\\", "\n", "ü"])
def test_brackets_in_a_text_are_no_levels(text: str) -> None:
    document = f"[{json.dumps(text)}, {nested(5000, json.dumps(text))}, {json.dumps(text)}]"
    first, _, last = decode_pruned(document.encode())
    assert (first, last) == (text, text)


def test_what_is_too_deep_reads_as_null() -> None:
    value = decode_pruned(nested(5000).encode())
    for _ in range(DEEPEST_READ):
        [value] = value
    assert value is None


@pytest.mark.parametrize(
    "text", ["[" * 5000, nested(5000) + "]", nested(5000)[:-1], '{"a":' * 5000]
)
def test_what_is_no_json_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        decode_pruned(text.encode())
