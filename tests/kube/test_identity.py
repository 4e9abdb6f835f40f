"""Whether the items of two lists can be paired at a glance."""

from typing import Any

import pytest

from glasswarden.kube.schema import are_aligned, index_by_identity

A, B = {"name": "a", "value": 1}, {"name": "b", "value": 2}
ALIKE = [{"name": True}, {"name": 1}]


@pytest.mark.parametrize(
    ("one", "other", "aligned"),
    [
        pytest.param([A, B], [A, B | {"value": 3}], True, id="the same, one changed"),
        pytest.param([], [], True, id="nothing"),
        pytest.param([A, B], [B, A], False, id="another order"),
        pytest.param([A], [A, B], False, id="one more"),
        pytest.param([A, A], [A, A], False, id="the same twice"),
        pytest.param(
            [{"name": True}, {"name": 1}], [{"name": True}, {"name": 1}], False, id="bool"
        ),
        pytest.param([{"name": None}], [{"name": None}], False, id="null"),
        pytest.param([{"value": 1}], [{"value": 1}], False, id="no key"),
        pytest.param([{"name": ["a"]}], [{"name": ["a"]}], False, id="a list under the key"),
        pytest.param([A], [{"name": {"a": 1}}], False, id="a map under the other's key"),
        pytest.param(["name"], ["name"], False, id="no map"),
        pytest.param([None], [None], False, id="nothing for a map"),
    ],
)
def test_lists_are_aligned_when_items_match_in_order(
    one: list[Any], other: list[Any], *, aligned: bool
) -> None:
    assert are_aligned(one, other, ("name",)) is aligned
    if aligned:
        before, after = index_by_identity(one, ("name",)), index_by_identity(other, ("name",))
        assert before is not None
        assert after is not None
        assert list(before) == list(after)


def test_lists_are_not_aligned_without_exactly_one_key() -> None:
    ports = [{"port": 80, "protocol": "TCP"}]
    assert not are_aligned(ports, ports, ("port", "protocol"))
    assert not are_aligned(["a"], ["a"], ())
