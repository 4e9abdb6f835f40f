"""The fields that a grant remembers."""

from glasswarden.kube.paths import parse_path
from glasswarden.policy.breakglass.held import MOST_HELD, merged
from tests.policy.builders import a_change


def test_each_field_once_in_order() -> None:
    changes = [a_change("/spec/replicas", 1, 2), a_change("/metadata/labels/a", "x")]
    assert merged(("/spec/replicas", "/spec/paused"), changes) == (
        "/metadata/labels/a",
        "/spec/paused",
        "/spec/replicas",
    )


def test_what_lies_below_another_is_said_by_that() -> None:
    changes = [a_change("/spec/template", {}, {"a": 1})]
    assert merged(("/spec/template/spec/containers[name=app]/image",), changes) == (
        "/spec/template",
    )
    assert merged(("/spec/template",), [a_change("/spec/templates", 1, 2)]) == (
        "/spec/template",
        "/spec/templates",
    )


def test_too_many_are_said_by_what_is_around_them() -> None:
    changes = [a_change(f"/data/key-{number}", 1, 2) for number in range(MOST_HELD + 1)]
    assert merged(("/metadata/labels/a",), changes) == (
        "/data",
        "/metadata/labels/a",
    )


def test_they_are_paths_that_can_be_read_back() -> None:
    path = "/metadata/annotations/example.com~1owner"
    [held] = merged((), [a_change(path, "a", "b")])
    assert str(parse_path(held)) == path


def test_ten_thousand_fields_are_few_paths() -> None:
    changes = [a_change(f"/spec/items[{number}]/value", 1, 2) for number in range(10_000)]
    assert merged((), changes) == ("/spec/items",)
