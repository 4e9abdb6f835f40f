"""Who set a field that no record explains: a name where the audit log proves it, else none."""

import json
from datetime import timedelta
from typing import Any

import pytest

from correlator.attribution.audit import (
    Account,
    account_of,
    is_removed_by_request,
    is_set_by_request,
)
from correlator.attribution.context import Act, AuditedWrite, Drifted, Way
from correlator.audit.log import AuditLog
from glasswarden.audit.event import parse_event
from glasswarden.kube.compare import ABSENT, value_at
from glasswarden.kube.managed_fields import entries_of, owners_at
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import parse_path
from tests.correlator.attribution.builders import UID, at, drifted, held_by
from tests.correlator.audit.recorded import POLICY, documents, live
from tests.kube.builders import an_entry, managed_by

REPLICAS = "/spec/replicas"
IMAGE = "/spec/template/spec/containers[name=app]/image"
LEVEL = "/spec/template/spec/containers[name=app]/env[name=LOG_LEVEL]/value"
BODIES = ("requestObject", "responseObject")


def in_the_end(kind: str, name: str, path: str) -> Drifted:
    """Return a field of an object of the recorded story as it was in the end."""
    obj, where = live(kind, name), parse_path(path)
    holders = owners_at(entries_of(obj), where)
    return Drifted("test", ref_of(obj), where, ABSENT, value_at(obj, where), holders)


def told(field: Drifted, *left_out: str) -> Account | None:
    """Return what the recorded log tells about *field*, without the parts that are left out."""
    log = AuditLog(POLICY)
    for each in documents():
        poorer = {key: value for key, value in each.items() if key not in left_out}
        log.take(parse_event(json.dumps(poorer)))
    return account_of(field, log.index.writes_to(field.ref))


THE_STORY = [
    pytest.param("Deployment", "web", IMAGE, Way.FAILED_OPEN, "developer", id="failed open"),
    pytest.param("Deployment", "web", REPLICAS, Way.FAILED_OPEN, "developer", id="scaled then"),
    pytest.param("Deployment", "api", IMAGE, Way.EMERGENCY, "lead", id="emergency"),
    pytest.param("Deployment", "api", REPLICAS, Way.EMERGENCY, "lead", id="scaled by them"),
    pytest.param("Deployment", "api", "/metadata/labels/tier", Way.EMERGENCY, "lead", id="a label"),
    pytest.param("ConfigMap", "settings", "/data/level", Way.EMERGENCY, "lead", id="replaced"),
    pytest.param("Deployment", "api", LEVEL, Way.UNRECORDED, "developer", id="unregistered"),
]


class TestRecordedAuditLog:
    @pytest.mark.parametrize(("kind", "name", "path", "way", "who"), THE_STORY)
    def test_each_field_is_attributed_to_its_writer(
        self, kind: str, name: str, path: str, way: Way, who: str
    ) -> None:
        account = told(in_the_end(kind, name, path))
        assert account is not None
        assert (account.proven, account.write.way, account.write.actor) == (True, way, who)
        assert account.why.endswith(f": {who}, from 127.0.0.1")

    @pytest.mark.parametrize(("kind", "name", "path", "way", "who"), THE_STORY)
    def test_audit_level_without_bodies_gives_no_wrong_name(
        self, kind: str, name: str, path: str, way: Way, who: str
    ) -> None:
        for left_out in ((), ("responseObject",), BODIES):
            account = told(in_the_end(kind, name, path), *left_out)
            if account is None or not account.proven:
                assert account is None or who not in account.why
            else:
                assert (account.write.way, account.write.actor) == (way, who)

    @pytest.mark.parametrize(("path", "proven"), [(IMAGE, True), (REPLICAS, False)])
    def test_patch_body_and_managed_fields_prove_the_writer(
        self, path: str, *, proven: bool
    ) -> None:
        """Not of a scale: its managedFields entry has no time."""
        account = told(in_the_end("Deployment", "web", path), "responseObject")
        assert account is not None
        assert (account.proven, account.write.actor) == (proven, "developer")

    def test_write_without_bodies_is_reported_without_an_actor(self) -> None:
        account = told(in_the_end("Deployment", "web", IMAGE), *BODIES)
        assert account is not None
        assert not account.proven
        assert account.why.startswith("perhaps the webhook failed open at ")
        assert "developer" not in account.why

    def test_recorded_write_names_its_record(self) -> None:
        account = told(in_the_end("Deployment", "web", LEVEL))
        assert account is not None
        assert (account.proven, account.write.way) == (True, Way.RECORDED)
        assert len(account.write.records) == 1

    def test_missing_object_is_attributed_to_its_deletion(self) -> None:
        gone = Drifted(
            "test", Ref("apps", "v1", "Deployment", "shop", "old"), parse_path("/"), {}, ABSENT
        )
        account = told(gone)
        assert account is not None
        assert (account.proven, account.write.way, account.write.actor) == (
            True,
            Way.EMERGENCY,
            "lead",
        )

    def test_field_applied_by_the_reconciler_is_not_attributed_to_a_person(self) -> None:
        account = told(in_the_end("Deployment", "web", "/metadata/annotations/example.com~1team"))
        assert account is not None
        assert account.write.way is Way.TRUSTED


def a_deployment(replicas: int, *entries: Object) -> Object:
    metadata = {"name": "web", "namespace": "shop", "uid": UID}
    obj = {"kind": "Deployment", "metadata": metadata, "spec": {"replicas": replicas}}
    return managed_by(obj, *entries)


def entry(minute: float, manager: str = "kubectl-edit", **differing: Any) -> Object:  # noqa: ANN401
    time = at(minute).strftime("%Y-%m-%dT%H:%M:%SZ")
    return an_entry(manager, REPLICAS, **differing) | {"time": time}


def wrote(minute: float, replicas: int = 8, **differing: Any) -> AuditedWrite:  # noqa: ANN401
    """Return a patch by one of the emergency group, with all that a log can show of it."""
    fields: dict[str, Any] = {
        "audit_id": f"audit-{minute}",
        "received": at(minute),
        "answered": at(minute) + timedelta(milliseconds=9),
        "way": Way.EMERGENCY,
        "act": Act.PATCH,
        "actor": "lead",
        "user": "lead",
        "source": "10.0.0.7",
        "manager": "kubectl-edit",
        "uid": UID,
        "sent": {"spec": {"replicas": replicas}},
        "after": a_deployment(replicas, entry(minute)),
    }
    return AuditedWrite(**fields | differing)


def proven(field: Drifted, *newest_first: AuditedWrite) -> bool | None:
    account = account_of(field, newest_first)
    return account.proven if account else None


FIELD = drifted(REPLICAS, 8)


class TestProof:
    def test_write_that_set_the_live_value_is_proven(self) -> None:
        assert proven(FIELD, wrote(2, 8), wrote(1, 3)) is True

    def test_write_that_repeats_the_value_is_not_the_cause(self) -> None:
        first = wrote(1, 8, actor="responder", user="responder")
        account = account_of(FIELD, [wrote(2, 8), first, wrote(0, 3)])
        assert account is not None
        assert account.write is first

    def test_replacement_proves_nothing_without_the_old_value(self) -> None:
        assert proven(FIELD, wrote(2, 8, act=Act.REPLACE)) is None
        assert proven(FIELD, wrote(2, 8, act=Act.REPLACE), wrote(1, 3)) is True

    def test_apply_proves_nothing_without_the_old_value(self) -> None:
        applied = a_deployment(8, entry(2, operation="Apply"))
        assert proven(FIELD, wrote(2, 8, after=applied)) is None
        assert proven(FIELD, wrote(2, 8, after=applied), wrote(1, 3)) is True

    @pytest.mark.parametrize(
        "after",
        [
            a_deployment(8, entry(1)),
            a_deployment(8, entry(2, "ci")),
            a_deployment(8, entry(2), entry(1, "ci")),
            a_deployment(8),
        ],
        ids=["of another second", "another manager", "not alone", "wiped"],
    )
    def test_proof_fails_when_managed_fields_disagree(self, after: Object) -> None:
        """A writer that the log left out may have set it before."""
        assert proven(FIELD, wrote(2, 8, after=after), wrote(1, 3)) is False

    def test_proof_fails_when_the_request_does_not_set_the_field(self) -> None:
        """A mutating webhook, or a writer that the log left out, set it."""
        silent = wrote(2, 8, sent={"metadata": {"labels": {"a": "b"}}})
        assert proven(FIELD, silent, wrote(1, 3)) is False

    def test_later_write_of_another_value_leaves_no_actor(self) -> None:
        assert proven(FIELD, wrote(2, 5), wrote(1, 8), wrote(0, 3)) is None

    def test_write_to_another_uid_proves_nothing(self) -> None:
        assert proven(FIELD, wrote(2, 8, uid="another")) is None

    def test_scale_does_not_explain_another_field(self) -> None:
        scale = wrote(3, 4, subresource="scale", after={"spec": {"replicas": 4}})
        image = drifted(IMAGE, "web:2")
        assert account_of(image, [scale]) is None

    def test_scale_is_proven_by_the_managed_fields_of_the_live_object(self) -> None:
        scale = wrote(2, 8, subresource="scale", manager="kubectl", after={"spec": {"replicas": 8}})
        held = drifted(REPLICAS, 8, holders=(held_by("kubectl", 2, subresource="scale"),))
        assert proven(held, scale, wrote(1, 3)) is True
        assert proven(held, scale) is False
        assert proven(FIELD, scale, wrote(1, 3)) is False

    def test_removal_is_proven_only_by_a_request_that_removes_the_field(self) -> None:
        gone, after = drifted(REPLICAS), a_deployment(3)
        del after["spec"]["replicas"]
        said = wrote(2, 0, sent={"spec": {"replicas": None}}, after=after)
        unsaid = wrote(2, 0, sent={"metadata": {}}, after=after)
        assert proven(gone, said, wrote(1, 3)) is True
        assert proven(gone, unsaid, wrote(1, 3)) is False


class TestWithoutResponseObjects:
    """Level Request: the live object's managedFields must do."""

    HELD = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", 2),))

    def test_request_body_and_time_of_managed_fields_are_proof(self) -> None:
        assert proven(self.HELD, wrote(2, 8, after=None, uid="")) is True

    @pytest.mark.parametrize(
        "write",
        [
            wrote(2, 8, after=None, manager="ci"),
            wrote(2, 8, after=None, act=Act.REPLACE),
            wrote(2, 8, after=None, sent=ABSENT),
        ],
        ids=["another manager", "a replacement", "no body"],
    )
    def test_request_without_matching_manager_act_or_body_is_no_proof(
        self, write: AuditedWrite
    ) -> None:
        assert proven(self.HELD, write) is False

    def test_later_write_without_a_body_is_not_the_cause(self) -> None:
        later = wrote(5, 0, after=None, sent=ABSENT, actor="outsider")
        account = account_of(self.HELD, [later, wrote(2, 8, after=None)])
        assert account is not None
        assert account.write.actor == "lead"

    def test_write_at_another_second_proves_nothing(self) -> None:
        assert proven(self.HELD, wrote(1, 8, after=None, sent=ABSENT)) is None


CONTAINERS = {"spec": {"containers": [{"name": "app", "image": "x"}]}}
DEFAULTED = {"name": "app", "image": "x", "terminationMessagePath": "/dev/termination-log"}
LABEL = "/metadata/labels/a~1b"


@pytest.mark.parametrize(
    ("sent", "path", "value", "expected"),
    [
        ({"spec": {"replicas": 8}}, REPLICAS, 8, True),
        ({"spec": {"replicas": 5}}, REPLICAS, 8, False),
        ({"spec": {}}, REPLICAS, 8, False),
        (CONTAINERS, "/spec/containers[name=app]/image", "x", True),
        (CONTAINERS, "/spec/containers[name=app]", DEFAULTED, True),
        (CONTAINERS, "/spec/containers[name=other]/image", "x", False),
        ([{"op": "replace", "path": "/spec/replicas", "value": 8}], REPLICAS, 8, True),
        ([{"op": "replace", "path": "/spec/replicas", "value": 5}], REPLICAS, 8, False),
        ([{"op": "add", "path": "/spec", "value": {"replicas": 8}}], REPLICAS, 8, True),
        ([{"op": "test", "path": "/spec/replicas", "value": 8}], REPLICAS, 8, False),
        ([{"op": "add", "path": LABEL, "value": "c"}], LABEL, "c", True),
        (["nonsense", {}], REPLICAS, 8, False),
        (ABSENT, REPLICAS, 8, False),
    ],
)  # fmt: skip
def test_request_sets_a_field(sent: object, path: str, value: object, *, expected: bool) -> None:
    assert is_set_by_request(sent, parse_path(path), value) is expected


@pytest.mark.parametrize(
    ("sent", "path", "expected"),
    [
        ({"spec": {"replicas": None}}, REPLICAS, True),
        ({"spec": None}, REPLICAS, True),
        ({"spec": {}}, REPLICAS, False),
        ({"a": [{"name": "x", "$patch": "delete"}]}, "/a[name=x]", True),
        ([{"op": "remove", "path": "/spec/replicas"}], REPLICAS, True),
        ([{"op": "remove", "path": "/spec/paused"}], REPLICAS, False),
    ],
)
def test_request_removes_a_field(sent: object, path: str, *, expected: bool) -> None:
    assert is_removed_by_request(sent, parse_path(path)) is expected
