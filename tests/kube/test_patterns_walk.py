"""A walk of a pattern over many paths gives what the pattern gives for each of them alone."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasswarden.kube.paths import ROOT, Key, Path, parse_path, path_of
from glasswarden.kube.patterns import PathPattern, Walk, overlaps, parse_pattern

names = st.sampled_from(["a", "b", "c"])
patterns = st.lists(st.sampled_from(["a", "b", "*", "**"]), min_size=1, max_size=5).map(
    lambda parts: parse_pattern("".join(f"/{part}" for part in parts))
)


@st.composite
def families(draw: Callable[..., Any]) -> list[Path]:
    """Return paths that go on from each other, as those of one comparison do."""
    grown = [ROOT]
    for _ in range(draw(st.integers(1, 20))):
        grown.append(draw(st.sampled_from(grown)) / Key(draw(names)))
    shuffled: list[Path] = draw(st.permutations(grown))
    return shuffled


@given(patterns, families())
def test_walk_agrees_with_the_pattern_for_each_path(
    pattern: PathPattern, family: list[Path]
) -> None:
    walk = Walk(pattern)
    for path in family:
        reached = walk.at(path)
        around = [path_of(*path.steps[:count]) for count in range(len(path.steps) + 1)]
        assert reached.states == pattern.states_at(path)
        assert reached.passed == any(map(pattern.matches, around))
        assert pattern.is_near(path) or not (reached.states or reached.passed)


@pytest.mark.parametrize(
    ("pattern", "path", "values", "overlapping"),
    [
        ("/spec/a", "/spec/a", (1,), True),
        ("/spec/a", "/spec/a/b", (1,), True),
        ("/spec/a", "/spec", (1, {"a": 2}), True),
        ("/spec/a", "/spec", ({"b": 1}, {"b": 2}), False),
        ("/spec/**/secret", "/spec/x/y", ({"secret": 1},), True),
        ("/spec/**/secret", "/spec/x/secret/y", (1,), True),
        ("/spec/**/secret", "/status/secret", (1,), False),
        ("/c[name=app]/cpu", "/c", ([{"name": "app", "cpu": 1}],), True),
        ("/**", "/", (), True),
    ],
)
def test_pattern_overlaps_values_that_it_matches_above_or_inside(
    pattern: str, path: str, values: tuple[Any, ...], *, overlapping: bool
) -> None:
    assert overlaps(Walk(parse_pattern(pattern)), parse_path(path), *values) is overlapping
