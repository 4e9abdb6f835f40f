"""`path_patterns`: which fields a rule covers."""

from typing import Any

import pytest
from hypothesis import given

from glasswarden.kube.paths import Key, Path, PathError, parse_path
from glasswarden.kube.patterns import AnyItem, AnyStep, AnySteps, covers, parse_pattern, walks_of
from tests.kube.strategies import paths

MATCHES = [
    ("/spec/replicas", "/spec/replicas"),
    ("/spec/*", "/spec/replicas"),
    ("/spec/*", "/spec[0]"),
    ("/spec/*/x", "/spec/a/x"),
    ("/spec/**", "/spec"),
    ("/spec/**", "/spec/a[0]/b"),
    ("/**", "/"),
    ("/**/image", "/spec/containers[name=app]/image"),
    ("/**/**/x", "/x"),
    ("/spec/**/x/**", "/spec/a/x/b/x/c"),
    ("/c[*]/image", "/c[name=app]/image"),
    ("/c[*]/image", "/c[0]/image"),
    ("/c[*]", "/c[=x]"),
    ("/c[*]", "/c[order]"),
    ("/c[order]", "/c[order]"),
    ("/c[name=app]", "/c[name=app]"),
    ("/c[name=istio-*]", "/c[name=istio-proxy]"),
    ("/c[name=*]", "/c[name=app]"),
    ("/ports[containerPort=80]", "/ports[containerPort=80,protocol=TCP]"),
    ("/set[=kubernetes.io*]", '/set[="kubernetes.io/pvc-protection"]'),
    ("/annotations/cert-manager.io~1*", "/annotations/cert-manager.io~1revision"),
    ("/annotations/*.example.com~1*", "/annotations/a.example.com~1b"),
    ("/a/x*y*z", "/a/xyz"),
    ("/a/~3", "/a/~3"),
]

MISSES = [
    ("/spec/replicas", "/spec"),
    ("/spec/replicas", "/spec/replicas/x"),
    ("/spec/*", "/spec"),
    ("/spec/*", "/spec/a/b"),
    ("/**/image", "/spec/containers"),
    ("/c[*]", "/c/x"),
    ("/c[*]", "/c"),
    ("/c[0]", "/c[1]"),
    ("/c[order]", "/c[0]"),
    ("/c[name=app]", "/c[name=web]"),
    ("/c[name=app]", "/c[=app]"),
    ("/c[=app]", "/c[name=app]"),
    ("/c[port=80]", '/c[port="80"]'),
    ("/c[name=istio-*]", "/c[name=app]"),
    ("/c[name=1*]", "/c[name=10]"),
    ('/c[name="istio-*"]', "/c[name=istio-proxy]"),
    ("/ports[containerPort=80,hostPort=80]", "/ports[containerPort=80,protocol=TCP]"),
    ("/a/x*yx", "/a/xyx*"),
    ("/a/xy*yx", "/a/xyx"),
    ("/a/~3", "/a/b"),
]


@pytest.mark.parametrize(("pattern", "path"), MATCHES)
def test_a_pattern_matches(pattern: str, path: str) -> None:
    assert parse_pattern(pattern).matches(parse_path(path))


@pytest.mark.parametrize(("pattern", "path"), MISSES)
def test_a_pattern_does_not_match(pattern: str, path: str) -> None:
    assert not parse_pattern(pattern).matches(parse_path(path))


@given(paths)
def test_the_text_of_a_path_is_a_pattern_without_wildcards(path: Path) -> None:
    pattern = parse_pattern(str(path))
    assert pattern.matches(path)
    assert not pattern.matches(path / Key("more"))
    assert not any(isinstance(part, AnyStep | AnySteps | AnyItem) for part in pattern.parts)


@given(paths)
def test_two_stars_match_every_path(path: Path) -> None:
    assert parse_pattern("/**").matches(path)


@pytest.mark.parametrize(
    ("patterns", "path", "value", "covered"),
    [
        (["/spec/replicas"], "/spec/replicas", 3, True),
        (["/spec/replicas"], "/spec", {"replicas": 3}, True),
        (["/spec/replicas"], "/spec", {"replicas": 3, "paused": True}, False),
        (["/spec/replicas", "/spec/paused"], "/spec", {"replicas": 3, "paused": True}, True),
        (["/spec/replicas"], "/spec", {}, False),
        (["/spec/**"], "/", {"spec": {"a": [1, {"b": 2}]}}, True),
        (["/spec/a"], "/spec", {"a": {"b": {"c": 1}}}, True),
        (["/c[name=app]/cpu"], "/c", [{"name": "app", "cpu": 1}], False),
        (["/c[name=app]/cpu", "/c[*]/name"], "/c", [{"name": "app", "cpu": 1}], True),
        (["/c[name=app]/**"], "/c", [{"name": "app", "cpu": 1}, {"name": "web"}], False),
        (["/c[=x]", "/c[1]"], "/c", ["x", "y"], True),
        ([], "/spec", 1, False),
    ],
)
def test_patterns_cover_a_value_when_they_match_every_leaf(
    patterns: list[str],
    path: str,
    value: Any,  # noqa: ANN401 - any JSON value
    covered: bool,  # noqa: FBT001 - an expectation
) -> None:
    walks = walks_of(list(map(parse_pattern, patterns)))
    assert covers(walks, parse_path(path), value) == covered


@pytest.mark.parametrize(
    ("text", "position"),
    [("spec", 0), ("/a[**]", 3), ("/a/~*", 3), ("/a[b=*,c]", 3), ("/a[*", 4)],
)
def test_invalid_pattern_is_rejected_with_the_position(text: str, position: int) -> None:
    with pytest.raises(PathError) as caught:
        parse_pattern(text)
    assert caught.value.position == position


def test_pattern_is_rendered_as_it_was_written() -> None:
    assert str(parse_pattern("/spec/**/a*")) == "/spec/**/a*"


@pytest.mark.parametrize(
    ("pattern", "path", "near"),
    [
        pytest.param("/spec/paused", "/spec/paused", True, id="the field"),
        pytest.param("/spec/paused", "/spec", True, id="a parent of the field"),
        pytest.param("/spec/paused", "/spec/paused/x", True, id="inside of the field"),
        pytest.param("/spec/paused", "/", True, id="the object"),
        pytest.param("/spec/paused", "/spec/replicas", False, id="a sibling of the field"),
        pytest.param("/spec/*/x", "/spec/a/y", True, id="anything behind a star"),
        pytest.param("/spec/*/x", "/status/a/x", False, id="before a star"),
        pytest.param("/sp*c", "/status", True, id="a star inside of a key"),
        pytest.param("/c[name=app]/cpu", "/c[name=web]", True, id="an item"),
        pytest.param("/**", "/status", True, id="everything"),
    ],
)
def test_pattern_is_near_paths_that_share_its_stem(pattern: str, path: str, *, near: bool) -> None:
    assert parse_pattern(pattern).is_near(parse_path(path)) is near
