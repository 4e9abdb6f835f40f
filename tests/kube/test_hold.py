"""`hold`: held fields keep their live value, and nothing else does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasswarden.kube.compare import value_at
from glasswarden.kube.diff import Change, find_changed_fields, find_changes, touches
from glasswarden.kube.hold import hold_fields
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.paths import Index, Order, Path, parse_path, path_of
from tests.kube.builders import a_deployment, a_pod, an_object, managed_by
from tests.kube.strategies import custom_objects, pods
from tests.kube.strategies import paths as any_paths

CONTAINER = "/spec/template/spec/containers[name=app]"


def container(obj: Object, name: str = "app") -> Any:  # noqa: ANN401 - a container, or ABSENT
    return value_at(obj, parse_path(f"/spec/template/spec/containers[name={name}]"))


def named(*names: str) -> list[Object]:
    return [{"name": name} for name in names]


def hold(live: Object, proposed: Object, *paths: str) -> Object:
    return hold_fields(live, proposed, map(parse_path, paths))


def test_held_field_keeps_its_live_value_beside_proposed_ones() -> None:
    live = a_deployment({"name": "app", "image": "hotfix", "args": ["a"]}, replicas=3)
    proposed = a_deployment({"name": "app", "image": "1", "args": ["b"]}, replicas=4)
    result = hold(live, proposed, f"{CONTAINER}/image")
    assert result == a_deployment({"name": "app", "image": "hotfix", "args": ["b"]}, replicas=4)


def test_hold_modifies_neither_object() -> None:
    live, proposed = a_deployment(replicas=3), a_deployment(replicas=4)
    hold(live, proposed, "/spec/replicas")
    assert (live, proposed) == (a_deployment(replicas=3), a_deployment(replicas=4))


def test_held_added_item_stays_after_its_predecessor() -> None:
    live = a_deployment({"name": "app", "env": named("A", "HOTFIX", "C")})
    proposed = a_deployment({"name": "app", "env": named("NEW", "A", "C")})
    result = hold(live, proposed, f"{CONTAINER}/env[name=HOTFIX]")
    assert container(result)["env"] == named("NEW", "A", "HOTFIX", "C")


def test_held_removed_item_stays_removed_beside_a_held_added_one() -> None:
    live = a_pod(containers=[{"name": "a"}, {"name": "added"}, {"name": "b"}])
    proposed = a_pod(containers=[{"name": "removed"}, {"name": "a"}, {"name": "b"}])
    result = hold(live, proposed, "/spec/containers[name=removed]", "/spec/containers[name=added]")
    assert result == live


@pytest.mark.parametrize(
    ("live", "proposed", "result"),
    [
        ({"a": "1", "tier": "x"}, {"a": "2"}, {"a": "2", "tier": "x"}),
        ({"a": "1"}, {"a": "2", "tier": "x"}, {"a": "2"}),
        ({"a": "1", "tier": "x"}, None, {"tier": "x"}),
        ({"a": "1"}, None, None),
        (None, {"a": "2", "tier": "x"}, {"a": "2"}),
        (None, {"tier": "x"}, None),
    ],
    ids=[
        "added", "removed", "added, map removed", "removed, map removed", "removed with the map",
        "removed with the map, alone in it",
    ],
)  # fmt: skip
def test_held_label_keeps_its_live_state(
    live: dict[str, str] | None, proposed: dict[str, str] | None, result: dict[str, str] | None
) -> None:
    found = hold(an_object(labels=live), an_object(labels=proposed), "/metadata/labels/tier")
    assert found == an_object(labels=result)


def test_held_members_of_a_set_stay_added_or_removed() -> None:
    live = an_object(metadata={"finalizers": ["a", "added"]})
    proposed = an_object(metadata={"finalizers": ["a", "removed", "new"]})
    paths = ("/metadata/finalizers[=added]", "/metadata/finalizers[=removed]")
    result = hold(live, proposed, *paths)
    assert result["metadata"]["finalizers"] == ["a", "added", "new"]


def test_held_atomic_list_keeps_its_live_value() -> None:
    live = a_deployment({"name": "app", "args": ["--debug"]})
    proposed = a_deployment({"name": "app", "args": ["-x", "-y"]}, {"name": "side"})
    result = hold(live, proposed, f"{CONTAINER}/args")
    assert container(result) == {"name": "app", "args": ["--debug"]}
    assert container(result, "side") == {"name": "side"}


def test_list_is_held_as_a_whole_when_the_path_has_an_index() -> None:
    """Git may have put something before it: the same position is another item."""
    live = an_object("example.com/v1/Widget", spec={"steps": ["a", "hotfix", "c"]})
    proposed = an_object("example.com/v1/Widget", spec={"steps": ["new", "a", "b", "c"]})
    assert hold(live, proposed, "/spec/steps[1]") == live


def test_list_with_duplicate_keys_is_held_as_a_whole() -> None:
    live = a_pod(containers=[{"name": "a", "image": "hotfix"}])
    proposed = a_pod(containers=[{"name": "a", "image": "1"}, {"name": "a", "image": "2"}])
    assert hold(live, proposed, "/spec/containers[name=a]/image") == live


def test_item_removed_around_a_held_field_is_restored_as_a_whole() -> None:
    """A container without an image would be denied, and the reconciler would fail."""
    sidecar = {"name": "side", "image": "2", "resources": {"limits": {"cpu": "2"}}}
    live = a_deployment({"name": "app"}, sidecar)
    proposed = a_deployment({"name": "app"})
    path = "/spec/template/spec/containers[name=side]/resources/limits/cpu"
    assert hold(live, proposed, path) == live


def test_struct_removed_around_a_held_field_is_restored_as_a_whole() -> None:
    probe = {"periodSeconds": 1, "tcpSocket": {"port": 80}}
    live = a_deployment({"name": "app", "image": "1", "livenessProbe": probe})
    proposed = a_deployment({"name": "app", "image": "2"})
    result = hold(live, proposed, f"{CONTAINER}/livenessProbe/periodSeconds")
    assert container(result) == {"name": "app", "image": "2", "livenessProbe": probe}


def test_value_that_changed_its_type_around_a_held_field_is_restored() -> None:
    live = an_object("example.com/v1/Widget", spec={"size": {"width": 1}, "a": 1})
    proposed = an_object("example.com/v1/Widget", spec={"size": "large", "a": 2})
    result = hold(live, proposed, "/spec/size/width")
    assert result["spec"] == {"size": {"width": 1}, "a": 2}


def test_held_order_of_items_is_kept_around_new_ones() -> None:
    live = a_pod(containers=named("b", "a", "c"))
    proposed = a_pod(containers=named("a", "new", "b"))
    result = hold(live, proposed, "/spec/containers[order]")
    assert result == a_pod(containers=named("b", "new", "a"))


def test_held_field_inside_of_a_held_one_changes_nothing() -> None:
    live = a_deployment(strategy={"type": "Recreate"})
    proposed = a_deployment(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})
    paths = ("/spec/strategy", "/spec/strategy/rollingUpdate/maxSurge")
    assert hold(live, proposed, *paths) == live


def test_proposed_object_is_unchanged_without_held_paths() -> None:
    proposed = a_deployment(replicas=4)
    assert hold(a_deployment(replicas=3), proposed) == proposed


objects = st.one_of(
    st.tuples(custom_objects(), custom_objects(), custom_objects()),
    st.tuples(pods(), pods(), pods()),
)
"""An object before a person's hotfix, after it, and as its owner wants it."""


@given(objects)
def test_write_of_the_owner_changes_no_held_field(
    versions: tuple[Object, Object, Object],
) -> None:
    before, live, proposed = versions
    paths = [change.path for change in find_changes(before, live)]
    result = hold_fields(live, proposed, paths)
    lost = [
        (change, path)
        for change in find_changes(live, result)
        for path in paths
        if alters(change, path)
    ]
    assert not lost


@given(objects)
def test_fields_that_are_not_held_are_as_proposed(versions: tuple[Object, Object, Object]) -> None:
    before, live, proposed = alike(*versions)
    paths = [unit_of(change.path) for change in find_changes(before, live)]
    result = hold_fields(live, proposed, paths)
    rewritten = [change.path for change in find_changes(proposed, result)]
    assert not [path for path in rewritten if not any(is_along(path, each) for each in paths)]


@given(objects)
def test_hold_is_idempotent(versions: tuple[Object, Object, Object]) -> None:
    before, live, proposed = versions
    paths = [change.path for change in find_changes(before, live)]
    once = hold_fields(live, proposed, paths)
    assert hold_fields(live, once, paths) == once


@given(objects, st.lists(any_paths, max_size=3))
def test_hold_is_idempotent_for_outdated_paths(
    versions: tuple[Object, Object, Object], more: list[Path]
) -> None:
    """A stamp may be older than what has become of the object since."""
    before, live, proposed = versions
    paths = [change.path for change in find_changes(before, proposed)] + more
    once = hold_fields(live, proposed, paths)
    assert hold_fields(live, once, paths) == once


@given(st.tuples(pods(), pods()))
def test_fields_added_or_removed_together_are_held_one_by_one(
    versions: tuple[Object, Object],
) -> None:
    before, live = versions
    paths = find_changed_fields(ref_of(live), find_changes(before, live))
    assert find_changes(live, hold_fields(live, before, paths)) == []


@given(objects)
def test_owner_that_proposes_the_old_object_changes_nothing(
    versions: tuple[Object, Object, Object],
) -> None:
    """A reconciler whose Git did not move sees no difference at all."""
    before, live, _ = versions
    paths = [change.path for change in find_changes(before, live)]
    assert find_changes(live, hold_fields(live, before, paths)) == []


def alike(*versions: Object) -> list[Object]:
    """Return *versions* with the same managedFields: an item has one name in all comparisons."""
    entries = [entry for obj in versions for entry in obj["metadata"].get("managedFields", ())]
    return [managed_by(obj, *entries) for obj in versions]


def alters(change: Change, path: Path) -> bool:
    # A list that is replaced or goes altogether has no order of its own to keep.
    return change.path == path if isinstance(path.step, Order) else touches(change, path)


def unit_of(path: Path) -> Path:
    """Return what is held for *path*: the list, where it names a position."""
    steps = path.steps
    positions = (at for at, step in enumerate(steps) if isinstance(step, Index | Order))
    return path_of(*steps[: next(positions, len(steps))])


def is_along(path: Path, other: Path) -> bool:
    """Return whether one of the two leads to the other."""
    one, two = path.steps, other.steps
    return one[: len(two)] == two or two[: len(one)] == one
