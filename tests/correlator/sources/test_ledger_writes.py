"""The ledger as a source: which direct writes to an object are still live."""

import hashlib
from datetime import datetime
from typing import Any

import pytest

from correlator.finding import UNKNOWN, Finding
from correlator.sources.ledger_writes import DirectWrites, Rules
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object
from glasswarden.ledger.record import Attempt, Cut
from glasswarden.policy.policy import DEFAULT
from tests.correlator.attribution.builders import UID, at, wrote
from tests.correlator.builders import FLUX
from tests.kube.builders import an_entry, an_object, managed_by
from tests.ledger.builders import MASKS

REPLICAS = "/spec/replicas"
ENV = "/spec/template/spec/containers[name=app]/env"
Found = list[tuple[str, Any, Any]]


def stamp(minute: float) -> str:
    return at(minute).strftime("%Y-%m-%dT%H:%M:%SZ")


def web(spec: Object, *entries: Object, uid: str = UID, labels: Any = FLUX, **more: Any) -> Object:  # noqa: ANN401
    """Return the live Deployment shop/web, which is Flux's."""
    metadata = {"uid": uid, "creationTimestamp": stamp(-60), **more}
    obj = an_object(name="web", namespace="shop", labels=labels, metadata=metadata, spec=spec)
    return managed_by(obj, *entries)


def by_flux(minute: float, *fields: str) -> Object:
    return an_entry("kustomize-controller", *fields, operation="Apply", time=stamp(minute))


def by_hand(minute: float, *fields: str, manager: str = "kubectl-edit") -> Object:
    return an_entry(manager, *fields, time=stamp(minute))


def app(**container: Any) -> Object:  # noqa: ANN401 - any field of a container
    return {"template": {"spec": {"containers": [{"name": "app", **container}]}}}


def read(
    live: Object, *attempts: Attempt, ends: dict[str, datetime] | None = None, masked: bool = True
) -> DirectWrites:
    """Return the writes to *live*, which are given oldest first."""
    writes = DirectWrites(live, Rules(DEFAULT, MASKS if masked else None, ends or {}))
    for attempt in reversed(attempts):
        writes.take(attempt)
    return writes


def shown(findings: list[Finding]) -> Found:
    return [
        (
            str(each.field),
            None if each.declared is ABSENT else each.declared,
            None if each.live is ABSENT else each.live,
        )
        for each in findings
    ]


def found(live: Object, *attempts: Attempt, **around: Any) -> Found:  # noqa: ANN401
    writes = read(live, *attempts, **around)
    assert writes.incomplete == []
    return shown(list(writes.findings()))


def untold(live: Object, *attempts: Attempt, **around: Any) -> list[str]:  # noqa: ANN401
    writes = read(live, *attempts, **around)
    assert list(writes.findings()) == []
    return [f"{each.what}: {each.why}" for each in writes.incomplete]


SCALED = wrote(1, REPLICAS, old=3, new=5)


def test_live_value_of_a_write_is_found_with_the_old_value() -> None:
    live = web({"replicas": 5}, by_flux(-60), by_hand(1, REPLICAS))
    [finding] = read(live, SCALED).findings()
    assert shown([finding]) == [(REPLICAS, 3, 5)]
    assert finding.owner is not None
    assert (finding.owner.app, finding.managers) == ("shop", ("kubectl-edit",))
    assert (finding.since, finding.source, finding.ref.uid) == (at(1), "ledger", UID)


@pytest.mark.parametrize(
    ("live", "attempts"),
    [
        pytest.param(web({"replicas": 3}, by_flux(2, REPLICAS)), [SCALED], id="healed"),
        pytest.param(web({"replicas": 5}, by_flux(2, REPLICAS)), [SCALED], id="backported"),
        pytest.param(web({"replicas": 4}, by_flux(2, REPLICAS)), [SCALED], id="Git moved on"),
        pytest.param(web({"replicas": 5}, uid="another"), [SCALED], id="another object"),
        pytest.param(
            web({"replicas": 3}, by_hand(2, REPLICAS)),
            [SCALED, wrote(2, REPLICAS, old=5, new=3)],
            id="put back by hand",
        ),
        pytest.param(
            web({"replicas": 7}, by_hand(2, REPLICAS, manager="kube-controller-manager")),
            [SCALED],
            id="scaled by Kubernetes since",
        ),
        pytest.param(
            web({"replicas": 5}, by_hand(2, REPLICAS)),
            [wrote(1, REPLICAS, old=3, new=5, clause="held")],
            id="by the reconciler itself",
        ),
        pytest.param(
            web({"replicas": 5}),
            [wrote(1, "/status/replicas", old=3, new=5, subresource="status")],
            id="a status",
        ),
        pytest.param(
            web({}, by_flux(2, "/spec/paused")),
            [wrote(1, "/spec/minReadySeconds", old=5)],
            id="removed, and left out by the owner's next apply",
        ),
    ],
)
def test_settled_write_is_no_finding(live: Object, attempts: list[Attempt]) -> None:
    assert found(live, *attempts) == []


def test_several_writes_are_compared_with_the_value_before_the_first() -> None:
    writes = [SCALED, wrote(2, REPLICAS, old=5, new=8)]
    assert found(web({"replicas": 8}), *writes) == [(REPLICAS, 3, 8)]


def test_retried_write_counts_once() -> None:
    first = wrote(2, REPLICAS, old=5, new=8, fingerprint="f")
    again = wrote(2.01, REPLICAS, old=5, new=8, fingerprint="f")
    assert found(web({"replicas": 8}), SCALED, first, again) == [(REPLICAS, 3, 8)]


def test_value_set_and_unset_within_seconds_is_no_retry() -> None:
    path = "/metadata/labels/team"
    writes = [
        wrote(1, path, new="shop", fingerprint="set"),
        wrote(1.01, path, old="shop", fingerprint="unset"),
        wrote(1.02, path, new="shop", fingerprint="set"),
    ]
    assert found(web({}, labels={**FLUX, "team": "shop"}), *writes) == [(path, None, "shop")]


def test_write_after_one_of_the_owner_is_compared_with_the_value_of_the_owner() -> None:
    live = web({"replicas": 8}, by_hand(3, REPLICAS))
    assert found(live, SCALED, wrote(3, REPLICAS, old=4, new=8)) == [(REPLICAS, 4, 8)]


def test_added_field_has_no_declared_value() -> None:
    live = web(app(env=[{"name": "DEBUG", "value": "1"}]))
    added = wrote(1, f"{ENV}[name=DEBUG]", new={"name": "DEBUG", "value": "1"})
    expected = (f"{ENV}[name=DEBUG]", None, {"name": "DEBUG", "value": "1"})
    assert found(live, added) == [expected]


def test_removal_is_a_finding_until_the_owner_applies_again() -> None:
    live = web({}, by_flux(-60, "/spec/paused"))
    removed = wrote(1, "/spec/minReadySeconds", old=5)
    assert found(live, removed) == [("/spec/minReadySeconds", 5, None)]


def test_added_list_that_grew_is_a_finding_for_its_live_items() -> None:
    mine, theirs = {"name": "DEBUG", "value": "1"}, {"name": "LEVEL", "value": "info"}
    added = wrote(1, ENV, new=[mine, {"name": "GONE", "value": "1"}])
    live = web(app(env=[theirs, mine]), by_flux(2, f"{ENV}[name=LEVEL]/value"))
    assert found(live, added) == [(f"{ENV}[name=DEBUG]", None, mine)]


def test_added_labels_are_findings_except_those_of_the_owner() -> None:
    labels = {**FLUX, "team": "shop", "tier": "web"}
    added = wrote(1, "/metadata/labels", new={"team": "shop", "tier": "web"})
    live = web({}, by_flux(2, "/metadata/labels/team"), labels=labels)
    assert found(live, added) == [("/metadata/labels/tier", None, "web")]


def test_change_inside_of_an_added_item_belongs_to_the_item() -> None:
    path = "/spec/template/spec/containers[name=debug]"
    added = wrote(1, path, new={"name": "debug", "image": "tools:1"})
    changed = wrote(2, f"{path}/image", old="tools:1", new="tools:2")
    live = web({"template": {"spec": {"containers": [{"name": "debug", "image": "tools:2"}]}}})
    assert found(live, added, changed) == [(path, None, {"name": "debug", "image": "tools:2"})]


def test_changed_order_is_a_finding() -> None:
    items = [{"name": "B"}, {"name": "A"}]
    turned = wrote(1, f"{ENV}[order]", old=["[name=A]", "[name=B]"], new=["[name=B]", "[name=A]"])
    [(path, _, _)] = found(web(app(env=items)), turned)
    assert path == f"{ENV}[order]"
    assert found(web(app(env=items[::-1]), by_flux(2, ENV)), turned) == []


def test_scale_is_found_at_the_replicas_path_of_the_kind() -> None:
    scale = an_entry("kubectl", "/spec/size", subresource="scale", time="")
    scaled = wrote(1, REPLICAS, old=3, new=5, subresource="scale", manager="")
    assert found(web({"size": 5}, scale), scaled) == [("/spec/size", 3, 5)]
    assert found(web({"replicas": 5}), scaled) == [(REPLICAS, 3, 5)]


def test_write_with_the_manager_name_of_the_owner_is_found() -> None:
    disguised = wrote(1, REPLICAS, old=3, new=5, manager="kustomize-controller")
    live = web({"replicas": 5}, by_hand(1, REPLICAS, manager="kustomize-controller"))
    assert found(live, disguised) == [(REPLICAS, 3, 5)]


def test_held_field_is_a_finding_until_the_grant_ends() -> None:
    fixed = wrote(1, REPLICAS, old=3, new=5, grant="g1")
    live = web({"replicas": 5}, by_flux(10, REPLICAS))
    assert found(live, fixed, ends={"g1": at(60)}) == [(REPLICAS, 3, 5)]
    assert found(live, fixed, ends={"g1": at(5)}) == []


class TestUnknownValues:
    def test_masked_value_cannot_be_compared_without_the_keys(self) -> None:
        hidden = wrote(1, REPLICAS, old_masked=masked(3), new_masked=masked(5))
        live = web({"replicas": 5})
        assert found(live, hidden) == [(REPLICAS, UNKNOWN, 5)]
        assert "cannot be compared" in untold(live, hidden, masked=False)[0]

    def test_masked_value_that_was_restored_is_settled(self) -> None:
        there = wrote(1, REPLICAS, old_masked=masked(3), new_masked=masked(5))
        back = wrote(2, REPLICAS, old_masked=masked(5), new_masked=masked(3))
        assert found(web({"replicas": 3}), there, back) == []

    def test_cut_value_is_recognized_by_its_digest(self) -> None:
        large = wrote(1, "/data/a", old_cut=cut("x" * 9), new_cut=cut("y" * 9))
        live = web({}) | {"data": {"a": "y" * 9}}
        assert found(live, large) == [("/data/a", UNKNOWN, "y" * 9)]
        assert found(web({}) | {"data": {"a": "x" * 9}}, large) == []

    def test_later_unrecorded_write_is_incomplete(self) -> None:
        live = web({"replicas": 9}, by_hand(2, REPLICAS))
        [said] = untold(live, SCALED)
        assert said.startswith("/spec/replicas of Deployment shop/web: record ")
        assert "whoever changed it since was not recorded" in said

    def test_unlisted_changes_of_a_record_are_incomplete(self) -> None:
        many = wrote(1, REPLICAS, old=3, new=3, unlisted=40)
        assert untold(web({"replicas": 3}), many)[0].startswith("40 more fields of Deployment")

    def test_unowned_object_has_no_declared_value(self) -> None:
        scaled = wrote(1, REPLICAS, old=3, new=5, engine="", app="")
        assert found(web({"replicas": 5}, labels={}), scaled) == [(REPLICAS, UNKNOWN, 5)]


class TestWholeObjects:
    def test_object_created_by_hand_is_a_finding_until_the_owner_applies_it(self) -> None:
        created = wrote(-60, REPLICAS, operation="CREATE", object_uid="", changes=())
        scaled = wrote(1, REPLICAS, old=3, new=5)
        live = web({"replicas": 5}, by_hand(-60, REPLICAS, manager="kubectl-create"))
        [finding] = read(live, created, scaled).findings()
        assert (finding.field, finding.declared) == (finding.field.parent or finding.field, ABSENT)
        assert finding.live["metadata"]["name"] == "web"
        adopted = web({"replicas": 5}, by_hand(1, REPLICAS), by_flux(-10, "/spec/paused"))
        assert found(adopted, created, scaled) == [(REPLICAS, 3, 5)]

    def test_creation_at_another_time_is_of_another_object(self) -> None:
        created = wrote(-600, REPLICAS, operation="CREATE", object_uid="", changes=())
        assert found(web({"replicas": 5}), created) == []

    def test_object_waiting_for_its_finalizers_is_being_deleted(self) -> None:
        deleted = wrote(1, REPLICAS, operation="DELETE", changes=())
        live = web({}, deletionTimestamp=stamp(1))
        assert found(live, deleted) == [("/metadata/deletionTimestamp", None, stamp(1))]

    def test_recorded_deletion_of_a_live_object_is_no_finding(self) -> None:
        deleted = wrote(2, REPLICAS, operation="DELETE", changes=())
        assert found(web({"replicas": 5}), SCALED, deleted) == [(REPLICAS, 3, 5)]

    def test_removed_mark_is_a_finding_for_its_former_owner(self) -> None:
        mark = "/metadata/labels/kustomize.toolkit.fluxcd.io~1name"
        detached = wrote(1, mark, old="shop", clause="marks")
        assert found(web({}, labels={"a": "b"}), detached) == [(mark, "shop", None)]


def masked(value: int) -> str:
    return MASKS.mask(REPLICAS, value, at(0))


def cut(text: str) -> Cut:
    encoded = f'"{text}"'.encode()
    return Cut(len(encoded), hashlib.sha256(encoded).hexdigest())
