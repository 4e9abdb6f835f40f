"""`held`: which changed fields a stamp contains, and how many."""

import pytest

from glasswarden.kube.paths import parse_path
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.annotations import Glass, Notes
from glasswarden.policy.breakglass.tokens import issue_stamp, merge_held_fields
from glasswarden.policy.decision import Clause
from tests.policy.breakglass.builders import RESPONDER, RING, a_stamp
from tests.policy.builders import NOW, WEB, Answered, a_change, a_policy, a_write, decided

APP = "/spec/template/spec/containers[name=app]"


def test_fields_of_all_writes_are_held_once() -> None:
    changes = [a_change("/spec/replicas", 3, 5), a_change(f"{APP}/image", "1", "2")]
    assert merge_held_fields(WEB, ["/spec/replicas"], changes) == ("/spec/replicas", f"{APP}/image")


def test_field_inside_of_a_held_one_is_held_with_it() -> None:
    changes = [a_change("/spec/strategy", {"type": "RollingUpdate"}, {"type": "Recreate"})]
    assert merge_held_fields(WEB, ["/spec/strategy/type"], changes) == ("/spec/strategy",)
    inside = [a_change("/spec/strategy/type")]
    assert merge_held_fields(WEB, ["/spec/strategy"], inside) == ("/spec/strategy",)


def test_outermost_of_nested_fields_is_held() -> None:
    held = ["/a/b/c", "/a/b", "/a/bc", "/d/e", "/d/f", "/g"]
    changes = [a_change("/d/e/h/i", 1, 2), a_change("/g", 1, 2)]
    assert merge_held_fields(WEB, held, changes) == ("/a/b", "/a/bc", "/d/e", "/d/f", "/g")
    assert merge_held_fields(WEB, ["/", "/a"], changes) == ("/",)


def test_labels_added_together_are_held_one_by_one() -> None:
    changes = [a_change("/metadata/labels", new={"a": "1", "b": "2"})]
    assert merge_held_fields(WEB, [], changes) == ("/metadata/labels/a", "/metadata/labels/b")


@pytest.mark.slow
def test_items_of_a_list_without_keys_are_held_as_the_list() -> None:
    changes = [a_change(f"/spec/items[{number}]/value", 1, 2) for number in range(10_000)]
    assert merge_held_fields(WEB, (), changes) == ("/spec/items",)


def test_held_fields_are_paths_that_can_be_parsed() -> None:
    path = "/metadata/annotations/example.com~1owner"
    held = merge_held_fields(WEB, (), [a_change(path, "a", "b")])
    assert held == (str(parse_path(path)),) == (path,)


@pytest.mark.slow
def test_stamp_holds_as_many_fields_as_fit_into_64_kb() -> None:
    paths: tuple[str, ...] = ()
    while more := merge_held_fields(
        WEB, (*paths, f"{APP}/env[name=VARIABLE_{len(paths):04}]/value"), ()
    ):
        paths = more
    assert len(paths) > 500
    token = issue_stamp(a_stamp(held=paths), RING, NOW)
    assert 60 * 1024 < len(token) < 64 * 1024


def under_a_grant(fields: int, *, hold: bool = True) -> Answered:
    """Return the verdict on a responder who changes so many *fields* under a grant."""
    policy = a_policy("breakGlass: {rules: [{name: responders, groups: [responders]}]}")
    before = Notes({names.REASON: "checkout is down"}, a_stamp(hold=hold))
    changes = tuple(a_change(f"/spec/template/a-long-name-{i:06}", 1, 2) for i in range(fields))
    glass = Glass(before, before, "41")
    return decided(a_write(actor=RESPONDER, changes=changes, glass=glass), policy)


def test_write_of_more_fields_than_a_stamp_can_hold_is_denied() -> None:
    assert under_a_grant(100).allowed
    refused = under_a_grant(2000)
    assert (refused.allowed, refused.clause) == (False, Clause.GUARD)
    assert "has no room to remember 2000 more fields that were changed" in refused.message
    assert under_a_grant(2000, hold=False).allowed
