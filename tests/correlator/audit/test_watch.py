"""What a real audit log shows about the guard, and what poorer logs leave out."""

import json
from collections import Counter
from typing import Any

import pytest

from correlator.attribution.context import Way
from correlator.audit.observed_write import ObservationKind, finding_of
from correlator.audit.watch import Watch
from correlator.finding import Cause, Response
from glasswarden.audit.event import parse_event
from glasswarden.policy.policy import DEFAULT
from tests.audit.builders import at, audit_event
from tests.correlator.audit.recorded import POLICY, documents, events
from tests.webhook.builders import a_deployment

RECORD = {"guard.glasswarden.io/019ca945-0a00-7000-8000-000000000001": "d" * 64}
FAILED = {"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "guard.glasswarden.io"}
REGISTRATION = {
    "resource": "validatingwebhookconfigurations",
    "name": "glasswarden",
    "apiGroup": "admissionregistration.k8s.io",
    "apiVersion": "v1",
}


def watched(*told: Any) -> Watch:  # noqa: ANN401 - events, or documents of them
    watch = Watch(POLICY)
    for each in told:
        watch.take(parse_event(json.dumps(each)) if isinstance(each, dict) else each)
    return watch


def a_write(minute: float = 0, **differing: Any) -> Any:  # noqa: ANN401
    """Return a developer's edit of the replicas of a Deployment that Flux owns."""
    after = a_deployment(replicas=5)
    after["metadata"]["managedFields"] = [
        {
            "manager": "kubectl-edit",
            "operation": "Update",
            "apiVersion": "apps/v1",
            "time": at(minute).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }
    ]
    return audit_event(minute, responseObject=after, **differing)


class TestRecordedAuditLog:
    def test_every_bypass_of_the_webhook_is_observed_and_named(self) -> None:
        told = [
            (each.sort, str(each.ref), each.actor, each.did) for each in self.seen().observed_writes
        ]
        policy = "/webhooks[name=guard.glasswarden.io]/failurePolicy"
        registration = "WebhookConfiguration glasswarden"
        assert told == [
            ("emergency", "Deployment shop/api", "lead", "patched it"),
            ("emergency", "Deployment shop/api", "lead", "scaled it to 9"),
            ("emergency", "Deployment shop/api", "lead", "patched it"),
            ("emergency", "ConfigMap shop/settings", "lead", "replaced it"),
            ("emergency", "Deployment shop/old", "lead", "deleted it"),
            ("failed-open", "Deployment shop/web", "developer", "scaled it to 7"),
            ("guard", f"Validating{registration}", "admin", f"changed {policy} of it"),
            ("failed-open", "Deployment shop/web", "developer", "patched it"),
            ("guard", f"Validating{registration}", "admin", "deleted it"),
            ("unrecorded", "Deployment shop/api", "developer", "patched it"),
            ("guard", f"Mutating{registration}", "admin", "deleted it"),
            ("guard", "Deployment glasswarden/glasswarden-webhook", "admin", "scaled it to 0"),
        ]

    def test_writes_with_metadata_only_are_counted(self) -> None:
        """The password that the lead set: of Secrets the log has metadata alone."""
        assert self.seen().untold == Counter({"writes of the emergency group": 1})

    def test_times_without_admission_are_observed(self) -> None:
        away, gone = self.seen().unseen
        assert away.why == "the webhook failed open"
        assert gone.why == "the webhook's registration was gone, deleted by admin"
        assert away.since < away.until <= gone.until

    def test_log_that_is_read_twice_adds_no_observed_writes(self) -> None:
        twice = watched(*events(), *events())
        assert len(twice.observed_writes) == len(self.seen().observed_writes)

    @pytest.mark.parametrize(
        ("level", "left_out"),
        [
            ("Request", ["responseObject"]),
            ("Metadata", ["responseObject", "requestObject"]),
        ],
    )
    def test_lower_audit_level_shows_only_writes_to_the_guard(
        self, level: str, left_out: list[str]
    ) -> None:
        poorer = [
            {key: value for key, value in each.items() if key not in left_out} | {"level": level}
            for each in documents()
        ]
        seen = watched(*poorer)
        assert {each.sort for each in seen.observed_writes} == {ObservationKind.GUARD}
        assert seen.untold["writes of the emergency group"] == 7
        assert seen.untold["writes that the webhook was not there for"] == 2
        assert len(seen.unseen) == 2

    @staticmethod
    def seen() -> Watch:
        return watched(*events())


class TestWayOfAWrite:
    @pytest.mark.parametrize(
        ("differing", "way"),
        [
            ({"annotations": RECORD}, Way.RECORDED),
            ({"annotations": FAILED}, Way.FAILED_OPEN),
            ({"user": {"username": "lead", "groups": ["leads"]}}, Way.EMERGENCY),
            ({"impersonatedUser": {"username": "x", "groups": ["leads"]}}, Way.EMERGENCY),
            ({"user": {"username": "system:kube-scheduler"}}, Way.TRUSTED),
            (
                {"user": {"username": "system:serviceaccount:flux-system:kustomize-controller"}},
                Way.TRUSTED,
            ),
            ({}, Way.UNRECORDED),
            ({"responseStatus": {"code": 409}}, None),
            ({"stage": "RequestReceived"}, None),
            ({"verb": "get"}, None),
            ({"requestURI": "/apis?dryRun=All"}, None),
        ],
        ids=[
            "recorded",
            "failed open",
            "emergency",
            "posing as one of the emergency group",
            "Kubernetes",
            "the owner's controller",
            "nobody asked",
            "refused",
            "not complete",
            "a read",
            "a dry run",
        ],
    )
    def test_way_is_derived_from_user_and_annotations(
        self, differing: dict[str, Any], way: Way | None
    ) -> None:
        assert Watch(POLICY).take(a_write(**differing)) is way

    def test_reconciler_write_without_a_change_is_trusted(self) -> None:
        """What a grant holds stays as it is in the reconciler's write."""
        flux = {"username": "system:serviceaccount:flux-system:kustomize-controller"}
        idle = a_write(user=flux, requestURI="/apis?fieldManager=another")
        assert Watch(POLICY).take(idle) is Way.TRUSTED

    def test_emergency_group_is_taken_from_the_policy(self) -> None:
        user = {"username": "lead", "groups": ["leads"]}
        assert Watch(DEFAULT).take(a_write(user=user)) is Way.UNRECORDED


class TestUnrecorded:
    def test_unrecorded_write_to_a_guarded_object_is_observed(self) -> None:
        [seen] = watched(a_write(0, annotations=RECORD), a_write(1)).observed_writes
        assert (seen.sort, seen.actor, seen.time) == (
            ObservationKind.UNRECORDED,
            "developer",
            at(1),
        )

    def test_write_before_the_first_record_is_not_observed(self) -> None:
        assert watched(a_write(0), a_write(1, annotations=RECORD)).observed_writes == []

    def test_unrecorded_write_to_an_exempt_namespace_is_not_observed(self) -> None:
        place = {"resource": "deployments", "namespace": "kube-system", "name": "web"}
        assert (
            watched(a_write(annotations=RECORD), a_write(1, objectRef=place)).observed_writes == []
        )

    def test_unrecorded_write_without_a_change_is_not_observed(self) -> None:
        """An edit that managedFields know nothing of in that second repeats what was there."""
        idle = a_write(1, requestURI="/apis?fieldManager=kubectl-patch")
        assert watched(a_write(annotations=RECORD), idle).observed_writes == []


class TestGlasswardenObjects:
    @staticmethod
    def registration(minute: float, bundle: str, **differing: Any) -> Any:  # noqa: ANN401
        webhook = {"name": "guard.glasswarden.io", "clientConfig": {"caBundle": bundle}}
        after = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "glasswarden"},
            "webhooks": [webhook],
        }
        return audit_event(minute, objectRef=REGISTRATION, responseObject=after, **differing)

    @pytest.mark.parametrize(
        ("user", "is_seen"),
        [
            ("admin", True),
            ("system:serviceaccount:shop:default", True),
            ("system:serviceaccount:glasswarden:glasswarden-certs", False),
            ("system:serviceaccount:cert-manager:cert-manager-cainjector", False),
            ("system:serviceaccount:flux-system:kustomize-controller", False),
        ],
    )
    def test_ca_bundle_replaced_by_another_user_is_observed(
        self, user: str, *, is_seen: bool
    ) -> None:
        changed = self.registration(1, "b3RoZXI=", user={"username": user})
        seen = watched(self.registration(0, "b3Vycw==", verb="create"), changed).observed_writes
        assert [each.actor for each in seen] == ([user] if is_seen else [])
        assert all("caBundle" in each.did for each in seen)

    @pytest.mark.parametrize("resource", ["deployments", "statefulsets"])
    def test_own_program_scaled_to_zero_is_observed(self, resource: str) -> None:
        ours = {"namespace": "glasswarden", "name": "glasswarden-webhook", "apiGroup": "apps"}
        place = {**ours, "resource": resource, "subresource": "scale"}
        scale = {"kind": "Scale", "spec": {"replicas": 0}}
        [seen] = watched(audit_event(objectRef=place, responseObject=scale)).observed_writes
        assert (seen.sort, seen.did) == (ObservationKind.GUARD, "scaled it to 0")

    def test_deletion_is_observed_until_the_object_is_restored(self) -> None:
        flux = {"username": "system:serviceaccount:flux-system:kustomize-controller"}
        watch = watched(
            audit_event(1, verb="delete", objectRef=REGISTRATION, user=flux),
            self.registration(4, "b3Vycw==", verb="create"),
        )
        [gone] = watch.unseen
        assert (gone.since, gone.until >= at(4)) == (at(1), True)
        finding = finding_of(watch.observed_writes[0])
        assert finding.verdict is not None
        assert (finding.verdict.cause, finding.verdict.response) == (
            Cause.CONTROLLER,
            Response.ESCALATE,
        )

    def test_unchanged_apply_is_not_observed(self) -> None:
        same = [self.registration(minute, "b3Vycw==") for minute in (1, 2)]
        assert [each.time for each in watched(*same).observed_writes] == [at(1)]


class TestOutages:
    def test_outage_lasts_until_the_webhook_answers(self) -> None:
        watch = watched(
            a_write(1, annotations=FAILED),
            a_write(2, annotations=FAILED),
            a_write(3, annotations=RECORD),
            a_write(9, annotations=FAILED),
        )
        assert [(each.since, each.until.replace(microsecond=0)) for each in watch.unseen] == [
            (at(1), at(2)),
            (at(9), at(9)),
        ]


def test_finding_has_actor_source_address_and_time() -> None:
    lead = {"username": "lead", "groups": ["leads"]}
    finding = finding_of(watched(a_write(user=lead)).observed_writes[0])
    assert finding.verdict is not None
    assert finding.verdict.reason.startswith(
        "lead from 10.0.0.7 patched it at 2026-03-01T12:00:00Z"
    )
    assert (finding.source, finding.since, finding.verdict.response) == (
        "audit",
        at(0),
        Response.ALERT,
    )
    assert not finding.is_orphan
    assert not finding.is_missing_object


def test_impersonator_is_reported() -> None:
    posing = a_write(
        user={"username": "outsider"}, impersonatedUser={"username": "lead", "groups": ["leads"]}
    )
    [seen] = watched(posing).observed_writes
    assert seen.who == "lead (impersonated by outsider) from 10.0.0.7"


def test_deleted_collection_is_observed_object_by_object() -> None:
    items = [a_deployment()["metadata"] | {"name": name} for name in ("web", "api")]
    answer = {
        "kind": "DeploymentList",
        "apiVersion": "apps/v1",
        "items": [{"metadata": each} for each in items],
    }
    event = audit_event(
        verb="deletecollection",
        objectRef={"resource": "deployments", "namespace": "shop", "apiGroup": "apps"},
        user={"username": "lead", "groups": ["leads"]},
        responseObject=answer,
    )
    told = [(str(each.ref), each.did) for each in watched(event).observed_writes]
    assert told == [("Deployment shop/web", "deleted it"), ("Deployment shop/api", "deleted it")]
