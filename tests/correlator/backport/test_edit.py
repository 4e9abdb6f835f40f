"""A text comes to mean another value, and no other line of it changes."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from correlator.backport.edit import rewrite_document, value_of
from correlator.backport.errors import CannotEdit
from correlator.backport.yaml_text import Map, is_plain, node_of, pieces_of, render_scalar
from correlator.declared.yaml_values import parse_yaml
from glasswarden.kube.equality import is_identical

GOLDEN = {
    "a number keeps its comment": ("a: 3 # why\nb: 1\n", {"a": 8, "b": 1}, "a: 8 # why\nb: 1\n"),
    "double quotes stay": ('a: "x:1"\n', {"a": "x:2"}, 'a: "x:2"\n'),
    "single quotes stay": ("a: 'x'\n", {"a": "it's"}, "a: 'it''s'\n"),
    "text that reads as something else is quoted": ("a: x\n", {"a": "yes"}, 'a: "yes"\n'),
    "a number takes no quotes": ("a: 'x'\n", {"a": 1}, "a: 1\n"),
    "a key without a value": ("a:\nb: 1\n", {"a": 2, "b": 1}, "a: 2\nb: 1\n"),
    "a new key below the last, above the comment": (
        "m:\n  a: 1\n  # end\n\nn: 1\n",
        {"m": {"a": 1, "b": {"c": [1]}}, "n": 1},
        "m:\n  a: 1\n  b:\n    c:\n    - 1\n  # end\n\nn: 1\n",
    ),
    "the file's own indentation": (
        "m:\n    a:\n        b: 1\n",
        {"m": {"a": {"b": 1}, "c": {"d": 1}}},
        "m:\n    a:\n        b: 1\n    c:\n        d: 1\n",
    ),
    "its own way of lists": (
        "a:\n  - x\n",
        {"a": ["x"], "b": ["w"]},
        "a:\n  - x\nb:\n  - w\n",
    ),
    "an item in the middle": (
        "a:\n- x # 1\n- z # 3\n",
        {"a": ["x", "w", "z"]},
        "a:\n- x # 1\n- w\n- z # 3\n",
    ),
    "an item before the first": ("a:\n- x\n", {"a": [{"k": 1}, "x"]}, "a:\n- k: 1\n- x\n"),
    "a removed line": (
        "a: 1\n# about b\nb: 2 # b\nc: 3\n",
        {"a": 1, "c": 3},
        "a: 1\n# about b\nc: 3\n",
    ),
    "the first key of an item": ("- a: 1\n  b: 2\n", [{"b": 2}], "- b: 2\n"),
    "the last key leaves an empty map": ("m:\n  a: 1\nn: 1\n", {"m": {}, "n": 1}, "m: {}\nn: 1\n"),
    "in braces": ("m: {a: 1, b: 2}\n", {"m": {"b": 3, "c": "x"}}, "m: {b: 3, c: x}\n"),
    "in brackets": ("m: [1, 2]\n", {"m": [1, 3, 2]}, "m: [1, 3, 2]\n"),
    "an empty map is filled as a block": ("m: {}\n", {"m": {"a": 1}}, "m:\n  a: 1\n"),
    "lines of a text": (
        "a: |\n  one\n  two\n  three\nb: 1\n",
        {"a": "one\n2\nthree\n", "b": 1},
        "a: |\n  one\n  2\n  three\nb: 1\n",
    ),
    "a text of lines is a block": ("a: x\n", {"a": "one\ntwo"}, "a: |-\n  one\n  two\n"),
    "carriage returns": (
        "a: 1\r\nb:\r\n- x\r\n",
        {"a": 2, "b": ["x", "w"]},
        "a: 2\r\nb:\r\n- x\r\n- w\r\n",
    ),
    "no newline at the end": ("a: 1", {"a": 1, "b": 2}, "a: 1\nb: 2"),
    "a byte order mark": ("\ufeffa: 1\n", {"a": 2}, "\ufeffa: 2\n"),
    "JSON": (
        '{\n  "a": 1,\n  "b": [\n    "x"\n  ]\n}\n',
        {"a": 2, "b": ["x", "y"], "c": {"d": None}},
        '{\n  "a": 2,\n  "b": [\n    "x",\n    "y"\n  ],\n  "c": {\n    "d": null\n  }\n}\n',
    ),
    "JSON on one line": ('{"a": {"b": 1}}', {"a": {"b": 1, "c": "x"}}, '{"a": {"b": 1, "c": "x"}}'),
    "JSON with tabs": (
        '{\n\t"a": 1\n}\n',
        {"a": 1, "b": {"c": 1}},
        '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 1\n\t}\n}\n',
    ),
    "a merged map is overridden, not changed": (
        "x: &x {a: 1}\ny:\n  <<: *x\n  b: 2\n",
        {"x": {"a": 1}, "y": {"a": 5, "b": 2}},
        "x: &x {a: 1}\ny:\n  <<: *x\n  b: 2\n  a: 5\n",
    ),
}


@pytest.mark.parametrize(("text", "value", "expected"), GOLDEN.values(), ids=GOLDEN)
def test_edit_changes_only_the_changed_lines(text: str, value: Any, expected: str) -> None:  # noqa: ANN401
    assert rewrite_document(text, 0, value) == expected


def test_other_documents_of_the_file_are_unchanged() -> None:
    text = "a: 1\n--- # two\nb: [\n---\nc: 1\n"
    assert rewrite_document(text, 2, {"c": 2}) == "a: 1\n--- # two\nb: [\n---\nc: 2\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x 1\nb: *x\n", {"a": 2, "b": 1}),
        ("a: &x {k: 1}\nb: *x\n", {"a": {"k": 1}, "b": {"k": 2}}),
    ],
    ids=["an anchor that others use", "inside of an alias"],
)
def test_shared_anchor_is_not_edited(text: str, value: Any) -> None:  # noqa: ANN401
    with pytest.raises(CannotEdit):
        rewrite_document(text, 0, value)


TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["yes", "1", "1e3", "0x1f", "12:30", "2026-01-31", "~", "a: b", "# x", "- x", "100m", "*a"]
    ),
    st.lists(st.sampled_from(["one", "  two", "", "# x", "a: b"]), max_size=3).map("\n".join),
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), TEXTS)
KEYS = st.sampled_from(["a", "b", "image", "a/b", "x.y", "1", "on"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


@st.composite
def texts_of(draw: st.DrawFn, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return *value* as somebody could have written it, with comments between the lines."""
    if draw(st.booleans()):
        return json.dumps(value, indent=draw(st.sampled_from([None, 2, "\t"])), ensure_ascii=False)
    text = yaml.dump(
        value,
        Dumper=yaml.SafeDumper,
        default_flow_style=draw(st.sampled_from([False, None, True])),
        indent=draw(st.sampled_from([2, 4])),
        allow_unicode=draw(st.booleans()),
        sort_keys=False,
    )
    head = draw(st.sampled_from(["", "# head\n", "other: 1\n---\n"]))
    return f"{head}{text}# tail\n"


@given(st.data())
def test_edit_reaches_any_value_from_any_text(data: st.DataObject) -> None:
    old, new = data.draw(DOCUMENTS), data.draw(DOCUMENTS)
    text = data.draw(texts_of(old))
    index = len(pieces_of(text)) - 1
    assume(
        is_identical(_read(text, index), old)
    )  # PyYAML writes some values so that nobody reads them
    assume(old.keys() & new.keys())
    after = rewrite_document(text, index, new)
    assert is_identical(value_of(pieces_of(after)[index]), new)


@given(st.data())
def test_change_of_one_value_changes_only_its_lines(data: st.DataObject) -> None:
    """What does not belong to the value that changed stays byte for byte, in its order."""
    key = data.draw(KEYS)
    old = {"first": 1, **data.draw(DOCUMENTS), key: data.draw(SCALARS), "last": {"z": [1]}}
    text = data.draw(texts_of(old))
    index = len(pieces_of(text)) - 1
    assume(is_identical(_read(text, index), old))
    its_own = _lines_of(text, index, key)
    after = rewrite_document(text, index, {**old, key: data.draw(SCALARS)})
    kept = [line for number, line in enumerate(text.split("\n")) if number not in its_own]
    assert _is_subsequence(kept, after.split("\n"))


@given(st.data())
def test_addition_keeps_every_line_and_removal_adds_none(data: st.DataObject) -> None:
    old = {"first": 1, "map": {"k": 1, "l": 2}, **data.draw(DOCUMENTS), "last": {"z": [1]}}
    text = yaml.dump(old, Dumper=yaml.SafeDumper, default_flow_style=False, sort_keys=False)
    assume(is_identical(_read(text, 0), old))
    added = rewrite_document(text, 0, {**old, "map": {"k": 1, "l": 2, "m": data.draw(VALUES)}})
    assert _is_subsequence(text.split("\n"), added.split("\n"))
    removed = rewrite_document(text, 0, {**old, "map": {"l": 2}})
    assert _is_subsequence(removed.split("\n"), text.split("\n"))
    assert len(text.split("\n")) - len(removed.split("\n")) == 1


@given(TEXTS)
def test_written_text_is_read_as_the_same_text(text: str) -> None:
    assume(not any(0xD800 <= ord(char) <= 0xDFFF for char in text))
    for style in ("", "'", '"'):
        assert parse_yaml(f"a: {render_scalar(text, style)}\n") == {"a": text}
        assert parse_yaml(f"[{render_scalar(text, style)}]") == [text]
    if is_plain(text):
        assert yaml.safe_load(text) == text


def _read(text: str, index: int) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return value_of(pieces_of(text)[index])
    except CannotEdit:
        return None


def _lines_of(text: str, index: int, key: str) -> set[int]:
    """Return the numbers of the lines on which the value of *key* stands."""
    root = node_of(pieces_of(text)[index])
    assert isinstance(root, Map)
    entry = root.entry(key)
    assert entry is not None
    first = text.count("\n", 0, entry.key.start)
    return set(range(first, text.count("\n", 0, entry.value.end) + 1))


def _is_subsequence(some: list[str], lines: list[str]) -> bool:
    rest = iter(lines)
    return all(line in rest for line in some)
