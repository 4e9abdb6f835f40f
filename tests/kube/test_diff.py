"""`diff`: what a write changed."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from glasswarden.kube.compare import ABSENT, value_at
from glasswarden.kube.diff import Change, find_changes, is_covered, remove_noise, touches
from glasswarden.kube.equality import is_identical
from glasswarden.kube.objects import Object
from glasswarden.kube.patch import apply_changes
from glasswarden.kube.paths import Order, parse_path
from glasswarden.kube.patterns import parse_pattern
from tests.kube.builders import (
    a_custom_object,
    a_deployment,
    a_pod,
    an_entry,
    an_object,
    managed_by,
)
from tests.kube.strategies import custom_objects, json_maps, pods

Told = dict[str, tuple[Any, Any]]
"""Changes as a table: path to old and new."""

CONTAINER = "/spec/template/spec/containers[name=app]"


def told(found: list[Change]) -> Told:
    return {str(change.path): (change.old, change.new) for change in found}


def env(**variables: str) -> list[Object]:
    return [{"name": name, "value": value} for name, value in variables.items()]


FIELDS: list[tuple[str, Object, Object, Told]] = [
    (
        "a value",
        a_deployment(replicas=1),
        a_deployment(replicas=3),
        {"/spec/replicas": (1, 3)},
    ),
    ("nothing", a_deployment(replicas=1), a_deployment(replicas=1), {}),
    (
        "a field that was not there",
        a_deployment(),
        a_deployment(paused=True),
        {"/spec/paused": (ABSENT, True)},
    ),
    (
        "a field that is removed",
        a_deployment(paused=True),
        a_deployment(),
        {"/spec/paused": (True, ABSENT)},
    ),
    (
        "null is not the same as nothing",
        a_custom_object(spec={"a": None}),
        a_custom_object(spec={}),
        {"/spec/a": (None, ABSENT)},
    ),
    (
        "a whole map at once",
        an_object(),
        an_object(annotations={"example.com/a": "1", "b": "2"}),
        {"/metadata/annotations": (ABSENT, {"example.com/a": "1", "b": "2"})},
    ),
    (
        "one key of a map",
        an_object(annotations={"example.com/a": "1", "b": "2"}),
        an_object(annotations={"example.com/a": "3", "b": "2"}),
        {"/metadata/annotations/example.com~1a": ("1", "3")},
    ),
    (
        "another type",
        a_custom_object(spec={"a": {"b": 1}}),
        a_custom_object(spec={"a": [1]}),
        {"/spec/a": ({"b": 1}, [1])},
    ),
    (
        "a truth that becomes a number",
        a_custom_object(spec={"a": True, "b": {"c": [True, 0]}}),
        a_custom_object(spec={"a": 1, "b": {"c": [1, False]}}),
        {"/spec/a": (True, 1), "/spec/b/c[0]": (True, 1), "/spec/b/c[1]": (0, False)},
    ),
]

LISTS: list[tuple[str, Object, Object, Told]] = [
    (
        "the image of one container",
        a_deployment({"name": "log"}, {"name": "app", "image": "a:1"}),
        a_deployment({"name": "log"}, {"name": "app", "image": "a:2"}),
        {f"{CONTAINER}/image": ("a:1", "a:2")},
    ),
    (
        "a container in front of the others",
        a_deployment({"name": "app"}),
        a_deployment({"name": "proxy"}, {"name": "app"}),
        {"/spec/template/spec/containers[name=proxy]": (ABSENT, {"name": "proxy"})},
    ),
    (
        "a variable that is removed",
        a_deployment({"name": "app", "env": env(A="1", B="2", C="3")}),
        a_deployment({"name": "app", "env": env(A="1", C="3")}),
        {f"{CONTAINER}/env[name=B]": ({"name": "B", "value": "2"}, ABSENT)},
    ),
    (
        "the order of variables, which may refer to earlier ones",
        a_deployment({"name": "app", "env": env(A="1", B="$(A)")}),
        a_deployment({"name": "app", "env": env(B="$(A)", A="1")}),
        {f"{CONTAINER}/env[order]": (["[name=A]", "[name=B]"], ["[name=B]", "[name=A]"])},
    ),
    (
        "two merge keys",
        a_deployment({"name": "app", "ports": [{"containerPort": 80, "protocol": "TCP"}]}),
        a_deployment({"name": "app", "ports": [{"containerPort": 80, "protocol": "UDP"}]}),
        {
            f"{CONTAINER}/ports[containerPort=80,protocol=TCP]": (
                {"containerPort": 80, "protocol": "TCP"},
                ABSENT,
            ),
            f"{CONTAINER}/ports[containerPort=80,protocol=UDP]": (
                ABSENT,
                {"containerPort": 80, "protocol": "UDP"},
            ),
        },
    ),
    (
        "an atomic list",
        a_deployment({"name": "app", "args": ["-a", "-b"]}),
        a_deployment({"name": "app", "args": ["-a", "-c"]}),
        {f"{CONTAINER}/args": (["-a", "-b"], ["-a", "-c"])},
    ),
    (
        "members of a set",
        an_object(metadata={"finalizers": ["a.example.com/x", "b"]}),
        an_object(metadata={"finalizers": ["b", "c"]}),
        {
            "/metadata/finalizers[=a.example.com/x]": ("a.example.com/x", ABSENT),
            "/metadata/finalizers[=c]": (ABSENT, "c"),
        },
    ),
    (
        "the same key twice: the list as a whole",
        a_deployment({"name": "app", "env": [*env(A="1"), *env(A="2")]}),
        a_deployment({"name": "app", "env": [*env(A="1"), *env(A="3")]}),
        {f"{CONTAINER}/env": ([*env(A="1"), *env(A="2")], [*env(A="1"), *env(A="3")])},
    ),
    (
        "an item without its key: the list as a whole",
        a_pod(containers=[{"name": "app"}]),
        a_pod(containers=[{"image": "a"}]),
        {"/spec/containers": ([{"name": "app"}], [{"image": "a"}])},
    ),
    (
        "a list that nothing is known of",
        a_custom_object(spec={"rules": [{"name": "a", "v": 1}, {"name": "b"}]}),
        a_custom_object(spec={"rules": [{"name": "a", "v": 2}]}),
        {"/spec/rules[0]/v": (1, 2), "/spec/rules[1]": ({"name": "b"}, ABSENT)},
    ),
    (
        "a list within a list",
        a_custom_object(spec={"rows": [[1, 2], [3]]}),
        a_custom_object(spec={"rows": [[1, 2], [3, 4]]}),
        {"/spec/rows[1][1]": (ABSENT, 4)},
    ),
]

MEANING: list[tuple[str, Object, Object, Told]] = [
    (
        "quantities",
        a_pod(
            containers=[{"name": "a", "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}}]
        ),
        a_pod(
            containers=[{"name": "a", "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}}}]
        ),
        {},
    ),
    (
        "quantities that differ",
        a_pod(containers=[{"name": "a", "resources": {"limits": {"cpu": "500m"}}}]),
        a_pod(containers=[{"name": "a", "resources": {"limits": {"cpu": "1"}}}]),
        {"/spec/containers[name=a]/resources/limits/cpu": ("500m", "1")},
    ),
    (
        "int-or-string",
        an_object(
            "v1/Service", spec={"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]}
        ),
        an_object(
            "v1/Service", spec={"ports": [{"port": 80, "protocol": "TCP", "targetPort": "80"}]}
        ),
        {},
    ),
    (
        "text that only looks like a quantity",
        an_object("v1/ConfigMap", data={"limit": "1e3", "cpu": "500m"}),
        an_object("v1/ConfigMap", data={"limit": "1000", "cpu": "0.5"}),
        {"/data/limit": ("1e3", "1000"), "/data/cpu": ("500m", "0.5")},
    ),
    (
        "a custom resource's fields, whatever their names",
        a_custom_object(spec={"resources": {"limits": {"cpu": "500m"}}}),
        a_custom_object(spec={"resources": {"limits": {"cpu": "0.5"}}}),
        {"/spec/resources/limits/cpu": ("500m", "0.5")},
    ),
]

NOISE: list[tuple[str, Object, Object, Told]] = [
    (
        "what every write moves",
        an_object(metadata={"resourceVersion": "1", "generation": 1}, status={"replicas": 1}),
        an_object(metadata={"resourceVersion": "2", "generation": 2}, status={"replicas": 2}),
        {},
    ),
    (
        "annotations that come with noise only",
        an_object(),
        an_object(annotations={"deployment.kubernetes.io/revision": "2"}),
        {},
    ),
    (
        "a change beside the noise",
        an_object(annotations={"deployment.kubernetes.io/revision": "1"}),
        an_object(annotations={"deployment.kubernetes.io/revision": "2", "a": "b"}),
        {"/metadata/annotations": (ABSENT, {"a": "b"})},
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(*case, id=f"{part}: {name}")
        for part, cases in [
            ("fields", FIELDS),
            ("lists", LISTS),
            ("meaning", MEANING),
            ("noise", NOISE),
        ]
        for name, *case in cases
    ],
)
def test_changes_of_a_write_are_found(old: Object, new: Object, expected: Told) -> None:
    assert told(find_changes(old, new)) == expected


def test_an_object_is_created_and_deleted_as_a_whole() -> None:
    obj = an_object(metadata={"uid": "u"}, status={})
    assert told(find_changes(None, obj)) == {"/": (ABSENT, an_object())}
    assert told(find_changes(obj, None)) == {"/": (an_object(), ABSENT)}


def test_status_is_compared_only_for_the_status_subresource() -> None:
    old, new = an_object(status={"replicas": 1}), an_object(status={"replicas": 2})
    assert told(find_changes(old, new, subresource="status")) == {"/status/replicas": (1, 2)}
    assert find_changes(old, new, subresource="scale") == []


def test_changes_are_in_the_order_of_the_object() -> None:
    old = a_deployment({"name": "app", "image": "a", "args": ["x"]}, replicas=1, paused=True)
    new = a_deployment({"name": "app", "image": "b", "args": ["y"]}, replicas=2, minReadySeconds=3)
    assert list(told(find_changes(old, new))) == [
        f"{CONTAINER}/image",
        f"{CONTAINER}/args",
        "/spec/replicas",
        "/spec/paused",
        "/spec/minReadySeconds",
    ]


class TestCustomResources:
    """Without a schema, managedFields give the merge keys."""

    OLD = a_custom_object(spec={"rules": [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}], "tags": ["a"]})
    NEW = a_custom_object(spec={"rules": [{"id": 2, "v": "c"}], "tags": ["a", "b"]})

    def test_merge_keys_and_sets_are_learned(self) -> None:
        entry = an_entry("m", "/spec/rules[id=1]/v", "/spec/tags[=a]")
        assert told(find_changes(managed_by(self.OLD, entry), self.NEW)) == {
            "/spec/rules[id=1]": ({"id": 1, "v": "a"}, ABSENT),
            "/spec/rules[id=2]/v": ("b", "c"),
            "/spec/tags[=b]": (ABSENT, "b"),
        }

    def test_merge_keys_are_learned_inside_of_list_items(self) -> None:
        old = a_custom_object(spec={"rules": [{"id": 1, "to": [{"host": "a", "weight": 1}]}]})
        new = a_custom_object(spec={"rules": [{"id": 1, "to": [{"host": "a", "weight": 2}]}]})
        entry = an_entry("m", "/spec/rules[id=1]/to[host=a]/weight")
        assert told(find_changes(managed_by(old, entry), new)) == {
            "/spec/rules[id=1]/to[host=a]/weight": (1, 2)
        }

    def test_managed_fields_of_the_old_object_take_precedence(self) -> None:
        """The writer could not change them."""
        old = managed_by(self.OLD, an_entry("m", "/spec/rules[id=1]/v"))
        new = managed_by(self.NEW, an_entry("m", "/spec/rules[v=a]/id"))
        assert "/spec/rules[id=2]/v" in told(find_changes(old, new))

    def test_managed_fields_cannot_override_the_schema_of_a_known_kind(self) -> None:
        forged = an_entry("m", "/spec/template/spec/containers[image=a]/name")
        old = managed_by(a_deployment({"name": "app", "image": "a"}), forged)
        new = a_deployment({"name": "app", "image": "b"})
        assert told(find_changes(old, new)) == {f"{CONTAINER}/image": ("a", "b")}

    def test_merge_keys_of_unknown_lists_in_a_known_kind_are_learned(self) -> None:
        old, new = a_pod(gadgets=[{"name": "a", "v": 1}]), a_pod(gadgets=[{"name": "a", "v": 2}])
        entry = an_entry("m", "/spec/gadgets[name=a]/v")
        assert list(told(find_changes(managed_by(old, entry), new))) == ["/spec/gadgets[name=a]/v"]


class TestAuthors:
    """Each change carries who made it, and how."""

    def test_manager_and_operation_come_from_managed_fields(self) -> None:
        flux = an_entry("kustomize-controller", "/spec/replicas", operation="Apply")
        kubectl = an_entry("kubectl-edit", "/spec/replicas", time="2026-03-01T10:05:00Z")
        old = managed_by(a_deployment(replicas=1), flux)
        new = managed_by(a_deployment(replicas=3), kubectl)
        (change,) = find_changes(old, new)
        assert (change.manager, change.operation) == ("kubectl-edit", "Update")

    def test_manager_of_the_request_takes_precedence(self) -> None:
        flux = an_entry("kustomize-controller", "/spec/replicas", operation="Apply")
        old = managed_by(a_deployment(replicas=1), flux)
        (change,) = find_changes(old, managed_by(a_deployment()), manager="kubectl-edit")
        assert (change.manager, change.operation) == ("kubectl-edit", "Update")

    def test_author_is_empty_without_managed_fields(self) -> None:
        (change,) = find_changes(a_deployment(replicas=1), a_deployment(replicas=2))
        assert (change.manager, change.operation) == ("", "")


MARK = "/metadata/annotations/example.com~1owner"


@pytest.mark.parametrize(
    ("old", "new", "touched"),
    [
        ({"example.com/owner": "a"}, {"example.com/owner": "b"}, True),
        ({}, {"example.com/owner": "a", "b": "c"}, True),
        ({"example.com/owner": "a"}, {}, True),
        ({"example.com/owner": "absent"}, {}, True),
        ({"example.com/owner": "a"}, {"example.com/owner": "a", "b": "c"}, False),
        ({"b": "c"}, {}, False),
    ],
    ids=["changed", "comes with others", "goes", "goes, whatever it said", "stays", "never there"],
)
def test_change_touches_a_field_alone_or_through_its_parent(
    old: dict[str, str],
    new: dict[str, str],
    touched: bool,  # noqa: FBT001 - an expectation
) -> None:
    found = find_changes(an_object(annotations=old), an_object(annotations=new))
    assert any(touches(change, parse_path(MARK)) for change in found) == touched


def test_change_touches_its_parent_fields() -> None:
    (change,) = find_changes(a_deployment(replicas=1), a_deployment(replicas=2))
    assert touches(change, parse_path("/spec"))
    assert not touches(change, parse_path("/metadata"))


@pytest.mark.parametrize(
    ("patterns", "covered"),
    [
        (["/spec/replicas"], False),
        (["/spec/replicas", "/spec/paused"], True),
        (["/spec/*"], True),
        ([], False),
    ],
)
def test_change_is_covered_when_all_its_fields_are(
    patterns: list[str],
    covered: bool,  # noqa: FBT001 - an expectation
) -> None:
    (change,) = find_changes(an_object(), an_object(spec={"replicas": 1, "paused": True}))
    assert is_covered(change, list(map(parse_pattern, patterns))) == covered


def test_change_is_covered_only_if_its_old_value_is() -> None:
    (change,) = find_changes(an_object(spec={"a": {"b": 1}}), an_object(spec={"a": 1}))
    assert not is_covered(change, [parse_pattern("/spec/a/b")])
    assert is_covered(change, [parse_pattern("/spec/a")])


class TestProperties:
    """What holds for every pair of objects."""

    @given(json_maps, json_maps)
    def test_changes_turn_the_old_json_into_the_new(self, old: Object, new: Object) -> None:
        assert_exact(old, new)

    @given(custom_objects(), custom_objects())
    def test_changes_turn_the_old_custom_resource_into_the_new(
        self, old: Object, new: Object
    ) -> None:
        assert_exact(old, new)

    @given(pods(), pods())
    def test_changes_turn_the_old_pod_into_the_new(self, old: Object, new: Object) -> None:
        assert_exact(old, new)

    @given(custom_objects() | pods())
    def test_an_object_does_not_differ_from_its_copy(self, obj: Object) -> None:
        assert find_changes(obj, json.loads(json.dumps(obj))) == []

    @given(custom_objects() | pods(), custom_objects() | pods())
    def test_change_has_the_values_at_its_path(self, old: Object, new: Object) -> None:
        before, after = remove_noise(old), remove_noise(new)
        for change in find_changes(old, new):
            if isinstance(change.path.step, Order):
                continue
            assert value_at(before, change.path) is change.old
            assert value_at(after, change.path) is change.new

    @given(custom_objects() | pods(), custom_objects() | pods())
    def test_no_change_contains_another(self, old: Object, new: Object) -> None:
        steps = [change.path.steps for change in find_changes(old, new)]
        assert not any(
            one != other and one == other[: len(one)] for one in steps for other in steps
        )
        assert len(set(steps)) == len(steps)

    @given(custom_objects() | pods(), custom_objects() | pods())
    def test_reverse_diff_has_as_many_changes(self, old: Object, new: Object) -> None:
        assert len(find_changes(old, new)) == len(find_changes(new, old))

    @given(custom_objects() | pods(), custom_objects() | pods())
    def test_diff_and_apply_modify_neither_object(self, old: Object, new: Object) -> None:
        before = json.dumps([old, new])
        apply_changes(old, find_changes(old, new))
        assert json.dumps([old, new]) == before


def assert_exact(old: Object, new: Object) -> None:
    made = apply_changes(old, find_changes(old, new))
    assert is_identical(remove_noise(made), remove_noise(new))


class Counted(str):
    """Text that counts how often any such text is compared."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        Counted.comparisons += 1
        return str.__ne__(self, other)

    __hash__ = str.__hash__


def a_wide_map(size: int, leaf: str) -> Object:
    return {f"k{i}": Counted(leaf) for i in range(size)}


def a_long_list(size: int, leaf: str) -> Object:
    return {"list": [{"id": i, "v": Counted(leaf)} for i in range(size)]}


def a_reversed_list(size: int, leaf: str) -> Object:
    items = a_long_list(size, leaf)["list"]
    return {"list": items if leaf == "old" else items[::-1]}


def a_deep_map(size: int, leaf: str) -> Object:
    value: Any = Counted(leaf)
    for level in range(size):
        value = {"a": value, "b": Counted("same")} if level % 2 else [value]
    return {"deep": value}


def a_deep_map_over_a_wide_one(size: int, leaf: str) -> Object:
    value: Any = a_wide_map(size, "same") | {"z": leaf}
    for _ in range(500):
        value = {"a": value}
    return {"deep": value}


SHAPES = [a_wide_map, a_long_list, a_reversed_list, a_deep_map, a_deep_map_over_a_wide_one]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("keyed", [False, True], ids=["by index", "by key"])
def test_work_grows_linearly_with_the_object(
    shape: Callable[[int, str], Object],
    keyed: bool,  # noqa: FBT001 - a case
) -> None:
    entry = [an_entry("m", "/spec/list[id=0]/v")] if keyed else []

    def comparisons(size: int) -> int:
        old, new = (a_custom_object(spec=shape(size, leaf)) for leaf in ("old", "new"))
        old["metadata"]["managedFields"] = entry
        Counted.comparisons = 0
        assert find_changes(old, new)
        return Counted.comparisons

    assert comparisons(4000) <= 2.4 * comparisons(2000)


class TestDeepNesting:
    """No nesting is too deep."""

    DEPTH = 20_000

    def nested(self, leaf: object, around: int = 0) -> Object:
        value = leaf
        for level in range(self.DEPTH):
            value = [value, around] if level % 2 else {"a": value, "b": around}
        return a_custom_object(spec=value)

    def test_one_change_at_the_deepest_level_is_found(self) -> None:
        old, new = self.nested(1), self.nested(2)
        (change,) = find_changes(old, new)
        assert (change.old, change.new) == (1, 2)
        assert len(change.path.steps) == self.DEPTH + 1
        assert is_identical(apply_changes(old, [change]), new)

    def test_changes_on_every_level_are_found(self) -> None:
        old, new = self.nested(1, around=1), self.nested(2, around=2)
        found = find_changes(old, new)
        assert len(found) == self.DEPTH + 1
        assert is_identical(apply_changes(old, found), new)

    def test_equal_deep_objects_have_no_changes(self) -> None:
        assert find_changes(self.nested(1), self.nested(1)) == []
