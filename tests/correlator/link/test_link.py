"""Every drifted field ends explained, delegated, or unexplained with the reason; no wrong name."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest

from correlator.link.drifted import Drifted, Knowledge, Unseen, Witness
from correlator.link.link import Confidence, Link, State, link
from glasswarden.keys.ring import Key, Ring
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Ref
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, ChangedField, Cut
from tests.correlator.link.builders import at, drifted, held_by, wrote

REPLICAS = "/spec/replicas"
ENV = "/spec/template/spec/containers[name=app]/env"
MASKS = Masks(Ring([Key("k", b"s" * 32, at(-9))]))
SINCE_LONG = Knowledge(records_since=at(-60))


def linked(field: Drifted, *newest_first: Attempt, **known: Any) -> Link:  # noqa: ANN401
    return link(field, newest_first, Knowledge(**{"records_since": at(-60)} | known), MASKS)


class TestExplained:
    def test_the_write_that_set_the_live_value_is_the_cause(self) -> None:
        write = wrote(1, REPLICAS, old=3, new=8, ticket="INC-42", grant="g1")
        found = linked(drifted(REPLICAS, 8), write)
        assert (found.state, found.actor, found.records) == (
            State.EXPLAINED,
            "responder",
            (write.id,),
        )
        assert (found.ticket, found.grant, found.time) == ("INC-42", "g1", at(1))
        assert found.confidence is Confidence.LIKELY

    def test_managed_fields_that_agree_make_it_certain(self) -> None:
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", 1),))
        found = linked(field, wrote(1, REPLICAS, new=8, manager="kubectl-edit"))
        assert found.confidence is Confidence.CERTAIN

    def test_so_does_the_audit_log(self) -> None:
        write = wrote(1, REPLICAS, new=8)
        witness = Witness(user="responder", stored=True)
        found = linked(drifted(REPLICAS, 8), write, witnesses={write.id: witness})
        assert (found.confidence, found.impersonator) == (Confidence.CERTAIN, "")

    def test_the_audit_log_unmasks_who_posed_as_somebody_else(self) -> None:
        write = wrote(1, REPLICAS, new=8, actor="responder")
        witness = Witness(user="outsider", stored=True)
        found = linked(drifted(REPLICAS, 8), write, witnesses={write.id: witness})
        assert (found.actor, found.impersonator) == ("responder", "outsider")

    def test_a_scale_names_no_manager_and_is_known_by_its_subresource(self) -> None:
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl", 1, subresource="scale"),))
        found = linked(field, wrote(1, REPLICAS, new=8, manager="", subresource="scale"))
        assert found.confidence is Confidence.CERTAIN

    def test_a_reconciler_that_keeps_a_held_field_does_not_speak_against_it(self) -> None:
        field = drifted(REPLICAS, 8, holders=(held_by("kustomize-controller", 5, "Apply"),))
        assert linked(field, wrote(1, REPLICAS, new=8)).state is State.EXPLAINED

    def test_a_write_to_something_above_the_field_explains_it(self) -> None:
        items = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
        field = drifted(f"{ENV}[name=B]", {"name": "B", "value": "2"}, declared=ABSENT)
        assert linked(field, wrote(1, ENV, new=items)).state is State.EXPLAINED

    def test_a_removed_field_is_explained_by_its_removal(self) -> None:
        field = drifted("/metadata/labels/team", ABSENT, declared="storefront")
        removal = wrote(1, "/metadata/labels/team", old="storefront")
        assert linked(field, removal).state is State.EXPLAINED

    def test_several_writes_to_parts_explain_it_together(self) -> None:
        live = {"name": "B", "value": "2"}
        field = drifted(f"{ENV}[name=B]", live, declared=ABSENT)
        added = wrote(1, f"{ENV}[name=B]", new={"name": "B", "value": "1"}, actor="developer")
        changed = wrote(2, f"{ENV}[name=B]/value", old="1", new="2")
        found = linked(field, changed, added)
        assert (found.records, found.actor) == ((changed.id, added.id), "responder")

    def test_parts_that_lead_back_to_what_git_says_explain_it(self) -> None:
        field = drifted("/spec/strategy", {"type": "Recreate"}, declared={"type": "RollingUpdate"})
        part = wrote(1, "/spec/strategy/type", old="RollingUpdate", new="Recreate")
        assert linked(field, part).state is State.EXPLAINED

    def test_a_denied_attempt_explains_nothing_and_hides_nothing(self) -> None:
        admitted = wrote(1, REPLICAS, new=8)
        denied = wrote(2, REPLICAS, new=9, verdict="deny", actor="developer")
        assert linked(drifted(REPLICAS, 8), denied, admitted).actor == "responder"

    def test_a_write_that_was_not_stored_explains_nothing_and_hides_nothing(self) -> None:
        first, refused = wrote(1, REPLICAS, new=8), wrote(2, REPLICAS, new=9, actor="developer")
        witness = Witness(user="developer", stored=False)
        found = linked(drifted(REPLICAS, 8), refused, first, witnesses={refused.id: witness})
        assert found.actor == "responder"

    def test_a_masked_value_is_recognised(self) -> None:
        masked = MASKS.mask("/data/token", "c2VjcmV0", at(1))
        field = drifted("/data/token", "c2VjcmV0", declared="b2xk")
        assert linked(field, wrote(1, "/data/token", new_masked=masked)).state is State.EXPLAINED

    def test_a_cut_value_is_recognised_by_its_digest(self) -> None:
        live = "x" * 9000
        encoded = f'"{live}"'.encode()
        cut = Cut(len(encoded), hashlib.sha256(encoded).hexdigest())
        field = drifted("/data/blob", live, declared="y")
        assert linked(field, wrote(1, "/data/blob", new_cut=cut)).state is State.EXPLAINED

    def test_a_deleted_object_is_explained_by_its_deletion(self) -> None:
        gone = drifted("/", ABSENT, ref=Ref("apps", "v1", "Deployment", "shop", "web"))
        deletion = wrote(1, REPLICAS, operation="DELETE", changes=())
        assert linked(gone, deletion).actor == "responder"


class TestNoName:
    @pytest.mark.parametrize(
        ("why", "history"),
        [
            pytest.param("no record changes this field", (), id="nothing recorded"),
            pytest.param(
                "no record changes this field",
                (wrote(1, "/spec/paused", new=True),),
                id="elsewhere",
            ),
            pytest.param(
                "set another value",
                (wrote(2, REPLICAS, new=5), wrote(1, REPLICAS, new=8)),
                id="a later record disagrees",
            ),
            pytest.param(
                "no record changes this field",
                (wrote(1, REPLICAS, new=8, object_uid="another"),),
                id="an earlier object of that name",
            ),
            pytest.param(
                "no record changes this field",
                (wrote(1, REPLICAS, new=8, cluster="another"),),
                id="another cluster",
            ),
            pytest.param(
                "cannot be compared",
                (wrote(1, REPLICAS, new_masked="unknown-key:00"),),
                id="masked with a key that is gone",
            ),
            pytest.param(
                "cannot be compared",
                (wrote(1, "/spec/paused", new=True, unlisted=3),),
                id="more changes than were listed",
            ),
        ],
    )
    def test_where_the_evidence_ends(self, why: str, history: tuple[Attempt, ...]) -> None:
        found = linked(drifted(REPLICAS, 8), *history)
        assert (found.state, found.actor, found.records) == (State.UNEXPLAINED, "", ())
        assert why in found.why

    def test_another_manager_in_the_live_object_speaks_against_the_record(self) -> None:
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl-patch", 5),))
        found = linked(field, wrote(1, REPLICAS, new=8, manager="kubectl-edit"))
        assert (found.state, found.actor) == (State.UNEXPLAINED, "")
        assert "managedFields name kubectl-patch" in found.why

    def test_what_was_written_before_recording_began_is_said_to_be(self) -> None:
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", -90),))
        assert "before recording began" in linked(field).why

    def test_a_ledger_without_records_of_the_cluster_is_said_to_be(self) -> None:
        assert "holds no records" in linked(drifted(REPLICAS, 8), records_since=None).why

    def test_a_time_in_which_writes_passed_unseen_is_named(self) -> None:
        gap = Unseen(at(0), at(10), "the webhook failed open")
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", 5),))
        assert linked(field, unseen=(gap,)).why.startswith("the webhook failed open at that time")

    def test_an_object_that_was_there_again_after_its_deletion(self) -> None:
        gone = drifted("/", ABSENT, ref=Ref("apps", "v1", "Deployment", "shop", "web"))
        deletion = wrote(1, REPLICAS, operation="DELETE", changes=(), object_uid="first")
        later = wrote(2, REPLICAS, new=8, object_uid="second", verdict="deny")
        assert linked(gone, later, deletion).state is State.UNEXPLAINED

    def test_a_value_that_git_and_the_record_both_lack(self) -> None:
        field = drifted(f"{ENV}[name=B]", {"name": "B", "value": "3"}, declared=ABSENT)
        added = wrote(1, f"{ENV}[name=B]", new={"name": "B", "value": "1"})
        assert linked(field, added).state is State.UNEXPLAINED


class TestDelegated:
    def test_a_field_that_the_policy_gave_away(self) -> None:
        holder = held_by("kube-controller-manager", 5, subresource="scale")
        field = drifted(REPLICAS, 8, delegate="hpa", holders=(holder,))
        found = linked(field, wrote(1, REPLICAS, new=5))
        assert (found.state, found.manager) == (State.DELEGATED, "kube-controller-manager")
        assert found.evidence == ("the policy delegates /spec/replicas to hpa",)

    def test_a_persons_write_to_it_still_has_a_name(self) -> None:
        field = drifted(REPLICAS, 8, delegate="hpa")
        assert linked(field, wrote(1, REPLICAS, new=8)).actor == "responder"

    def test_the_autoscaler_may_choose_the_value_that_a_person_chose_before(self) -> None:
        holder = held_by("kube-controller-manager", 5, subresource="scale")
        field = drifted(REPLICAS, 8, delegate="hpa", holders=(holder,))
        write = wrote(1, REPLICAS, new=8, manager="kubectl-edit")
        assert linked(field, write).state is State.DELEGATED


def test_history_is_read_only_as_far_as_needed() -> None:
    def history() -> Any:  # noqa: ANN401 - a generator
        yield wrote(1, REPLICAS, new=8)
        raise AssertionError("read too far")

    assert link(drifted(REPLICAS, 8), history(), SINCE_LONG).state is State.EXPLAINED


def test_times_of_managed_fields_are_whole_seconds_of_another_clock() -> None:
    write = wrote(1, REPLICAS, new=8, manager="kubectl-edit", time=at(1) + timedelta(seconds=1.9))
    field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", 1),))
    assert linked(field, write).confidence is Confidence.CERTAIN


def test_a_change_that_is_listed_decides_whatever_was_not() -> None:
    write = wrote(1, REPLICAS, unlisted=9, changes=(ChangedField(path=REPLICAS, new=8),))
    assert linked(drifted(REPLICAS, 8), write).state is State.EXPLAINED
