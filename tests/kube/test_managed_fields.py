"""`managed`: what managedFields contain about who wrote what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasswarden.kube.managed_fields import (
    FieldsV1,
    entries_of,
    items_of,
    manager_from_user_agent,
    owned_paths_of,
    owners_at,
    parse_step,
    render_step,
    writer_of,
    writers_between,
)
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import Order, Path, parse_path, path_of
from glasswarden.kube.schema import Items, KeyedItems
from tests.kube.builders import a_deployment, an_entry, an_object, fields_owning, managed_by
from tests.kube.strategies import steps

EARLIER, LATER = "2026-03-01T10:00:00Z", "2026-03-01T10:05:00Z"

IMAGE = "/spec/template/spec/containers[name=app]/image"
REPLICAS = "/spec/replicas"

APPLIED = [
    # As kustomize-controller leaves them on a Deployment.
    {
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {
                "f:labels": {
                    "f:kustomize.toolkit.fluxcd.io/name": {},
                    "f:kustomize.toolkit.fluxcd.io/namespace": {},
                }
            },
            "f:spec": {
                "f:replicas": {},
                "f:selector": {},
                "f:template": {
                    "f:metadata": {"f:labels": {"f:app": {}}},
                    "f:spec": {
                        "f:containers": {
                            'k:{"name":"app"}': {
                                ".": {},
                                "f:args": {},
                                "f:image": {},
                                "f:name": {},
                                "f:ports": {
                                    'k:{"containerPort":8080,"protocol":"TCP"}': {
                                        ".": {},
                                        "f:containerPort": {},
                                        "f:name": {},
                                    }
                                },
                            }
                        }
                    },
                },
            },
        },
        "manager": "kustomize-controller",
        "operation": "Apply",
        "time": EARLIER,
    },
    {
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:annotations": {".": {}, "f:deployment.kubernetes.io/revision": {}}},
            "f:status": {
                "f:conditions": {
                    ".": {},
                    'k:{"type":"Available"}': {".": {}, "f:status": {}, "f:type": {}},
                },
                "f:observedGeneration": {},
            },
        },
        "manager": "kube-controller-manager",
        "operation": "Update",
        "subresource": "status",
        "time": EARLIER,
    },
]


def after_kubectl_edit() -> list[Object]:
    """Return the same entries once a person has edited the image."""
    applied, status = APPLIED
    owned = [path for path in owned_paths_of(applied["fieldsV1"]) if str(path) != IMAGE]  # type: ignore[arg-type]
    left = {**applied, "fieldsV1": fields_owning(owned)}
    return [left, status, an_entry("kubectl-edit", IMAGE, time=LATER)]


class TestEntries:
    """The entries as the object has them."""

    def test_entry_has_manager_operation_subresource_and_time(self) -> None:
        applied, status = entries_of(managed_by(an_object(), *APPLIED))
        assert (applied.manager, applied.operation) == ("kustomize-controller", "Apply")
        assert (status.subresource, status.time) == ("status", EARLIER)

    def test_entry_has_the_fields_it_owns(self) -> None:
        applied, _ = entries_of(managed_by(an_object(), *APPLIED))
        owned = set(map(str, owned_paths_of(applied.fields)))
        assert {IMAGE, REPLICAS, "/spec/template/spec/containers[name=app]"} <= owned
        ports = "/spec/template/spec/containers[name=app]/ports"
        assert f"{ports}[containerPort=8080,protocol=TCP]/name" in owned
        assert ports not in owned

    @pytest.mark.parametrize(
        "managed",
        [
            pytest.param([{}], id="wiped by a client"),
            pytest.param(None, id="null"),
            pytest.param("x", id="text"),
            pytest.param([None, 3, "x", []], id="no entries"),
            pytest.param([{"manager": "m", "operation": "Delete"}], id="unknown operation"),
            pytest.param([{"manager": 3, "operation": "Update"}], id="a manager that is no text"),
            pytest.param([{"operation": "Update", "fieldsV1": []}], id="fields that are no map"),
        ],
    )
    def test_malformed_entries_are_skipped(self, managed: object) -> None:
        obj = an_object(metadata={"managedFields": managed})
        assert entries_of(obj) == ()
        assert writer_of(obj, obj) is None

    def test_missing_object_has_no_entries(self) -> None:
        assert entries_of(None) == ()

    def test_malformed_fields_are_skipped(self) -> None:
        fields = {
            "f:a": {},
            "f:b": 3,
            "x": {},
            "k:{": {},
            "k:[]": {},
            "v:": {},
            "i:x": {},
            "i:-1": {},
            "": {},
        }
        assert list(owned_paths_of(fields)) == [path_of("a")]

    def test_deeply_nested_fields_are_read(self) -> None:
        deep = path_of(*["a"] * 20_000)
        fields = fields_owning([deep])
        assert list(owned_paths_of(fields)) == [deep]
        before = entries_of(managed_fields_of(fields))
        after = entries_of(managed_fields_of(fields_owning([deep, path_of("b")])))
        assert [entry.manager for entry in writers_between(before, after)] == [""]


def managed_fields_of(fields: FieldsV1) -> Object:
    """Return an object with one entry of these *fields*, nested too deep for a JSON text."""
    return an_object(metadata={"managedFields": [{"operation": "Update", "fieldsV1": fields}]})


class TestWriter:
    """The difference of two managedFields shows who wrote."""

    def test_writer_is_the_person_who_edits_applied_fields(self) -> None:
        """The controller's entry changes too, but it only loses the field to the person."""
        old = managed_by(a_deployment(), *APPLIED)
        new = managed_by(a_deployment(), *after_kubectl_edit())
        writer = writer_of(old, new)
        assert writer is not None
        assert (writer.manager, writer.operation, writer.time) == ("kubectl-edit", "Update", LATER)

    @pytest.mark.parametrize(
        ("before", "after", "writers"),
        [
            pytest.param([], [an_entry("m", IMAGE)], ["m"], id="an entry appears"),
            pytest.param(
                [an_entry("m", IMAGE, time=EARLIER)],
                [an_entry("m", IMAGE, time=LATER)],
                ["m"],
                id="an entry gets a new time",
            ),
            pytest.param(
                [an_entry("m", IMAGE)],
                [an_entry("m", IMAGE, REPLICAS)],
                ["m"],
                id="an entry gains a field within the second",
            ),
            pytest.param(
                [an_entry("m", IMAGE), an_entry("n", REPLICAS)],
                [an_entry("m", IMAGE, time=LATER)],
                ["m"],
                id="another loses all its fields",
            ),
            pytest.param(
                [an_entry("m", IMAGE, REPLICAS)],
                [an_entry("m", IMAGE)],
                [],
                id="fields are only removed: no writer",
            ),
            pytest.param(
                [an_entry("m", IMAGE)],
                [an_entry("m", IMAGE)],
                [],
                id="the same manager again within the second",
            ),
            pytest.param(
                [an_entry("m", IMAGE)],
                [an_entry("m", REPLICAS, operation="Apply", time=LATER), an_entry("m", IMAGE)],
                ["m"],
                id="the same manager in another way",
            ),
            pytest.param(
                [an_entry("m", IMAGE, operation="Apply", api_version="apps/v1beta1")],
                [an_entry("m", IMAGE, operation="Apply")],
                [],
                id="an applier of another API version is the same",
            ),
            pytest.param(
                [an_entry(f"m{i}", IMAGE) for i in range(11)],
                [an_entry("ancient-changes", IMAGE), an_entry("n", REPLICAS, time=LATER)],
                ["n"],
                id="the API server's own bookkeeping does not write",
            ),
            pytest.param(
                [],
                [an_entry("m", IMAGE, time=EARLIER), an_entry("n", REPLICAS, time=LATER)],
                ["n", "m"],
                id="a client that rewrites them: the latest first",
            ),
        ],
    )
    def test_writer_is_the_manager_of_a_new_or_renewed_entry(
        self, before: list[Object], after: list[Object], writers: list[str]
    ) -> None:
        old, new = managed_by(an_object(), *before), managed_by(an_object(), *after)
        found = writers_between(entries_of(old), entries_of(new))
        assert [entry.manager for entry in found] == writers

    def test_writer_of_a_new_object_is_the_manager_of_its_entry(self) -> None:
        writer = writer_of(None, managed_by(an_object(), an_entry("kubectl-create", IMAGE)))
        assert writer is not None
        assert writer.manager == "kubectl-create"

    def test_a_deleted_object_has_no_writer(self) -> None:
        assert writer_of(managed_by(an_object(), an_entry("m", IMAGE)), None) is None


@pytest.mark.parametrize(
    ("path", "owned"),
    [
        (IMAGE, True),
        ("/spec/template/spec/containers[name=app]/args[0]", True),
        ("/spec/template/spec/containers[name=app]", True),
        ("/spec/template/spec/containers[name=web]/image", False),
        ("/spec/paused", False),
        ("/spec/selector/matchLabels/app", True),
    ],
    ids=["a field", "inside an atomic list", "an item", "another item", "nothing", "atomic map"],
)
def test_entry_owns_a_field_directly_or_through_its_parent(
    path: str,
    owned: bool,  # noqa: FBT001 - an expectation
) -> None:
    entries = entries_of(managed_by(an_object(), *APPLIED))
    assert bool(owners_at(entries, parse_path(path))) == owned


NOTE = "/metadata/annotations/note"


@pytest.mark.parametrize(
    ("edited", "owners"),
    [
        pytest.param(NOTE, ["editor"], id="another manager has the field"),
        pytest.param("/metadata/annotations/other", [], id="another manager has a sibling"),
        pytest.param(REPLICAS, ["maker"], id="no manager has anything inside"),
    ],
)
def test_manager_that_lost_the_fields_of_a_map_does_not_own_them(
    edited: str, owners: list[str]
) -> None:
    """As the API server leaves it where one sets an annotation and another changes it."""
    maker, editor = an_entry("maker", "/metadata/annotations"), an_entry("editor", edited)
    entries = entries_of(managed_by(an_object(), maker, editor))
    assert [each.manager for each in owners_at(entries, parse_path(NOTE))] == owners
    above = owners_at(entries, parse_path("/metadata/annotations"))
    assert "maker" in [each.manager for each in above]


@pytest.mark.parametrize(
    ("node", "items"),
    [
        ({".": {}, 'k:{"name":"a"}': {}}, KeyedItems(("name",))),
        ({'k:{"port":80,"protocol":"TCP"}': {}}, KeyedItems(("port", "protocol"))),
        ({'v:"a"': {}}, "set"),
        ({"i:0": {}}, None),
        ({"k:{}": {}}, None),
        ({"k:{": {}}, None),
        ({}, None),
    ],
)
def test_owned_item_gives_the_merge_keys_of_its_list(
    node: dict[str, object], items: Items | None
) -> None:
    assert items_of(node) == items


owned_steps = steps.filter(lambda step: step != Order())
owned_path_sets = st.lists(
    st.lists(owned_steps, min_size=1, max_size=4).map(lambda each: path_of(*each)), max_size=5
)


@given(owned_steps)
def test_every_step_has_a_name_in_fields_v1(step: object) -> None:
    name = render_step(step)  # type: ignore[arg-type]
    parsed = parse_step(name)
    assert parsed is not None
    assert render_step(parsed) == name


@given(owned_path_sets)
def test_fields_owning_some_paths_own_exactly_these(paths: list[Path]) -> None:
    fields = fields_owning(paths)
    owned = list(owned_paths_of(fields))
    assert {render_path(path) for path in owned} == {render_path(path) for path in paths}
    assert fields_owning(owned) == fields


def render_path(path: Path) -> tuple[str, ...]:
    """Return *path* as FieldsV1 names it, where the order of merge keys is nothing."""
    return tuple(map(render_step, path.steps))


@pytest.mark.parametrize(
    ("user_agent", "manager"),
    [
        ("kubectl/v1.36.0 (linux/amd64) kubernetes/0123456", "kubectl"),
        ("kustomize-controller/v0.0.0", "kustomize-controller"),
        ("Mozilla", "Mozilla"),
        ("", ""),
        ("/x", ""),
        ("a\x00b\nc/1", "abc"),
        ("x" * 200, "x" * 128),
        ("é" * 100, "é" * 64),
        ("x" + "é" * 100, "x" + "é" * 63),
    ],
    ids=[
        "kubectl",
        "controller",
        "no slash",
        "empty",
        "nothing before the slash",
        "unprintable",
        "too long",
        "the limit is in bytes",
        "no half characters",
    ],
)
def test_a_request_without_a_manager_is_named_by_its_user_agent(
    user_agent: str, manager: str
) -> None:
    assert manager_from_user_agent(user_agent) == manager
