"""`paths`: field paths that people read and programs parse back."""

import pytest
from hypothesis import given

from glasswarden.kube.paths import (
    LONGEST_REMEMBERED,
    MOST_REMEMBERED,
    ROOT,
    Index,
    Key,
    Member,
    Order,
    Path,
    PathError,
    Select,
    parse_path,
    path_of,
)
from tests.kube.strategies import paths

READABLE = [
    pytest.param("/", ROOT, id="the object itself"),
    pytest.param("/spec/replicas", path_of("spec", "replicas"), id="fields"),
    pytest.param(
        "/spec/template/spec/containers[name=app]/image",
        path_of("spec", "template", "spec", "containers", Select((("name", "app"),)), "image"),
        id="an item by its merge key",
    ),
    pytest.param(
        "/ports[containerPort=80,protocol=TCP]",
        path_of("ports", Select((("containerPort", 80), ("protocol", "TCP")))),
        id="an item by two merge keys, one a number",
    ),
    pytest.param(
        "/volumeMounts[mountPath=/var/run]",
        path_of("volumeMounts", Select((("mountPath", "/var/run"),))),
        id="a slash in a value is no step",
    ),
    pytest.param(
        "/hostAliases[ip=10.0.0.1]",
        path_of("hostAliases", Select((("ip", "10.0.0.1"),))),
        id="not every text that begins with a digit is a number",
    ),
    pytest.param(
        '/env[name="80"]',
        path_of("env", Select((("name", "80"),))),
        id="a text that looks a number",
    ),
    pytest.param(
        '/env[name="a,b]"]', path_of("env", Select((("name", "a,b]"),))), id="a text with brackets"
    ),
    pytest.param("/set[=true]", path_of("set", Member(True)), id="a set's member"),
    pytest.param('/set[="true"]', path_of("set", Member("true")), id="a text that looks a truth"),
    pytest.param('/set[=""]', path_of("set", Member("")), id="the empty text"),
    pytest.param("/rules[3]/host", path_of("rules", Index(3), "host"), id="an item by its index"),
    pytest.param("/env[order]", path_of("env", Order()), id="the order of a list"),
    pytest.param(
        "/metadata/annotations/example.com~1owner",
        path_of("metadata", "annotations", "example.com/owner"),
        id="a slash in a key",
    ),
    pytest.param("/a~0b", path_of("a~b"), id="a tilde in a key"),
    pytest.param("/a~2b]", path_of("a[b]"), id="a bracket in a key"),
    pytest.param("/~3", path_of("*"), id="a star in a key"),
    pytest.param("/a/~/b", path_of("a", "", "b"), id="an empty key"),
    pytest.param("/a~{1b}~2m", path_of("a\x1b[m"), id="a terminal's control sequence in a key"),
    pytest.param(
        r'/env[name="\u202etxt"]', path_of("env", Select((("name", "\u202etxt"),))), id="bidi"
    ),
    pytest.param("/ünï/文", path_of("ünï", "文"), id="letters of any alphabet"),
]


@pytest.mark.parametrize(("text", "path"), READABLE)
def test_path_is_rendered_and_parsed_as_one_text(text: str, path: Path) -> None:
    assert str(path) == text
    assert parse_path(text) == path


@given(paths)
def test_rendered_path_is_parsed_back_as_itself(path: Path) -> None:
    assert parse_path(str(path)) == path


@given(paths)
def test_rendered_path_is_printable(path: Path) -> None:
    assert str(path).isprintable()


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 0, "begins with '/'"),
        ("spec", 0, "expected '/' or '['"),
        ("/spec//a", 6, "empty key"),
        ("/spec/", 6, "empty key"),
        ("/a~9", 2, "'~' is followed by"),
        ("/a~", 2, "'~' is followed by"),
        ("/a~{110000}", 2, "'~' is followed by"),
        ("/a[", 3, "expected ']'"),
        ("/a[b", 4, "expected ']'"),
        ("/a[]", 3, "expected name=value"),
        ("/a[b=]", 5, "expected a value"),
        ("/a[b=c", 6, "expected ']'"),
        ("/a[b c]", 4, "expected ']'"),
        ("/a[-1]", 3, "expected an index"),
        ("/a[01]", 3, "expected an index"),
        ("/a[1,b=2]", 3, "expected name=value"),
        ("/a[=1,=2]", 3, "expected name=value"),
        ('/a["order"]', 3, "expected name=value"),
        (r'/a[b="\x"]', 5, "not a JSON string"),
        ("/a[0]b", 5, "expected '/' or '['"),
        ("/a[b=" + "9" * 5000 + "]", 3, "too many digits"),
    ],
)
def test_invalid_path_is_rejected_with_the_position(text: str, position: int, problem: str) -> None:
    with pytest.raises(PathError) as caught:
        parse_path(text)
    assert caught.value.position == position
    assert problem in str(caught.value)


def test_paths_are_equal_and_hashable_by_value() -> None:
    one, other = parse_path("/a[b=c]/d"), path_of("a", Select((("b", "c"),)), "d")
    assert one == other
    assert not one != other  # noqa: SIM202 - both ways of asking
    assert len({one, other}) == 1
    assert one != parse_path("/a[b=c]")
    assert one / Key("e") == parse_path("/a[b=c]/d/e")
    assert repr(one) == "parse_path('/a[b=c]/d')"


def test_deep_path_is_rendered_and_parsed() -> None:
    deep = path_of(*["a"] * 20_000)
    assert parse_path(str(deep)) == deep


@pytest.mark.parametrize("count", [MOST_REMEMBERED, MOST_REMEMBERED + 1])
def test_steps_of_a_long_path_are_not_cached(count: int) -> None:
    """Of a hundred thousand fields at the end of a thousand steps, each would have its own."""
    path = path_of(*["a"] * count)
    first, second = path.steps, path.steps
    assert first == second == (Key("a"),) * count
    assert (first is second) == (count <= MOST_REMEMBERED)


@pytest.mark.parametrize("length", [LONGEST_REMEMBERED, LONGEST_REMEMBERED + 1])
def test_text_of_a_long_path_is_not_cached(length: int) -> None:
    path = path_of("a" * (length - 1))
    first, second = str(path), str(path)
    assert first == second == f"/{'a' * (length - 1)}"
    assert (first is second) == (length <= LONGEST_REMEMBERED)
