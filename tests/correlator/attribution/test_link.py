"""Every drifted field ends explained, delegated, or unexplained with the reason; no wrong name."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest

from correlator.attribution.context import Drifted, Knowledge, Unseen, Witness
from correlator.attribution.link import Confidence, Link, State, link
from glasswarden.keys.ring import Key, Ring
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.managed_fields import Entry
from glasswarden.kube.objects import Ref
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt, ChangedField, Cut
from tests.correlator.attribution.builders import at, drifted, held_by, scaled_by, wrote

REPLICAS = "/spec/replicas"
ENV = "/spec/template/spec/containers[name=app]/env"
MASKS = Masks(Ring([Key("k", b"s" * 32, at(-9))]))
FLUX = frozenset({"kustomize-controller"})
FLUX_AT_5 = held_by("kustomize-controller", 5, "Apply")
SINCE_LONG = Knowledge(records_since=at(-60))


def linked(field: Drifted, *newest_first: Attempt, **known: Any) -> Link:  # noqa: ANN401
    return link(field, newest_first, Knowledge(**{"records_since": at(-60)} | known), MASKS)


class TestExplained:
    def test_write_that_set_the_live_value_is_the_cause(self) -> None:
        write = wrote(1, REPLICAS, old=3, new=8, ticket="INC-42", grant="g1")
        found = linked(drifted(REPLICAS, 8), write)
        assert (found.state, found.actor, found.records) == (
            State.EXPLAINED,
            "responder",
            (write.id,),
        )
        assert (found.ticket, found.grant, found.time) == ("INC-42", "g1", at(1))
        assert found.confidence is Confidence.LIKELY

    def test_agreeing_managed_fields_make_the_link_certain(self) -> None:
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", 1),))
        found = linked(field, wrote(1, REPLICAS, new=8, manager="kubectl-edit"))
        assert found.confidence is Confidence.CERTAIN

    def test_agreeing_audit_log_makes_the_link_certain(self) -> None:
        write = wrote(1, REPLICAS, new=8)
        witness = Witness(user="responder", stored=True)
        found = linked(drifted(REPLICAS, 8), write, witnesses={write.id: witness})
        assert (found.confidence, found.impersonator) == (Confidence.CERTAIN, "")

    def test_audit_event_without_an_outcome_leaves_the_link_likely(self) -> None:
        write = wrote(1, REPLICAS, new=8)
        witness = Witness(user="responder", stored=None)
        found = linked(drifted(REPLICAS, 8), write, witnesses={write.id: witness})
        assert (found.state, found.confidence) == (State.EXPLAINED, Confidence.LIKELY)

    def test_impersonator_is_named_by_the_audit_log(self) -> None:
        write = wrote(1, REPLICAS, new=8, actor="responder")
        witness = Witness(user="outsider", stored=True)
        found = linked(drifted(REPLICAS, 8), write, witnesses={write.id: witness})
        assert (found.actor, found.impersonator) == ("responder", "outsider")

    def test_scale_without_a_manager_is_matched_by_its_subresource(self) -> None:
        field = drifted(REPLICAS, 8, holders=(scaled_by("kubectl"),))
        found = linked(field, wrote(1, REPLICAS, new=8, manager="", subresource="scale"))
        assert (found.actor, found.confidence) == ("responder", Confidence.LIKELY)

    def test_held_field_stays_explained_after_the_reconciler_applied_it(self) -> None:
        field = drifted(REPLICAS, 8, holders=(FLUX_AT_5,), owner_managers=FLUX, generation=4)
        write = wrote(1, REPLICAS, new=8, grant="g1", grant_expires=at(9), generation=4)
        assert linked(field, write).state is State.EXPLAINED

    def test_write_to_a_parent_explains_the_field(self) -> None:
        items = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
        field = drifted(f"{ENV}[name=B]", {"name": "B", "value": "2"}, declared=ABSENT)
        assert linked(field, wrote(1, ENV, new=items)).state is State.EXPLAINED

    def test_recorded_removal_explains_a_missing_field(self) -> None:
        field = drifted("/spec/paused", ABSENT, declared=True, generation=4)
        removal = wrote(1, "/spec/paused", old=True, generation=4)
        assert linked(field, removal).actor == "responder"

    def test_writes_to_parts_explain_the_field_together(self) -> None:
        live = {"name": "B", "value": "2"}
        field = drifted(f"{ENV}[name=B]", live, declared=ABSENT)
        added = wrote(1, f"{ENV}[name=B]", new={"name": "B", "value": "1"}, actor="developer")
        changed = wrote(2, f"{ENV}[name=B]/value", old="1", new="2")
        found = linked(field, changed, added)
        assert (found.records, found.actor) == ((changed.id, added.id), "responder")

    def test_writes_to_parts_that_lead_back_to_the_declared_value_explain_it(self) -> None:
        field = drifted("/spec/strategy", {"type": "Recreate"}, declared={"type": "RollingUpdate"})
        part = wrote(1, "/spec/strategy/type", old="RollingUpdate", new="Recreate")
        assert linked(field, part).state is State.EXPLAINED

    def test_denied_attempt_does_not_hide_the_cause(self) -> None:
        admitted = wrote(1, REPLICAS, new=8)
        denied = wrote(2, REPLICAS, new=9, verdict="deny", actor="developer")
        assert linked(drifted(REPLICAS, 8), denied, admitted).actor == "responder"

    def test_write_that_was_not_stored_does_not_hide_the_cause(self) -> None:
        first, refused = wrote(1, REPLICAS, new=8), wrote(2, REPLICAS, new=9, actor="developer")
        witness = Witness(user="developer", stored=False)
        found = linked(drifted(REPLICAS, 8), refused, first, witnesses={refused.id: witness})
        assert found.actor == "responder"

    def test_masked_value_explains_the_field(self) -> None:
        masked = MASKS.mask("/data/token", "c2VjcmV0", at(1))
        field = drifted("/data/token", "c2VjcmV0", declared="b2xk")
        assert linked(field, wrote(1, "/data/token", new_masked=masked)).state is State.EXPLAINED

    def test_cut_value_explains_the_field_by_its_digest(self) -> None:
        live = "x" * 9000
        encoded = f'"{live}"'.encode()
        cut = Cut(len(encoded), hashlib.sha256(encoded).hexdigest())
        field = drifted("/data/blob", live, declared="y")
        assert linked(field, wrote(1, "/data/blob", new_cut=cut)).state is State.EXPLAINED

    def test_an_object_is_explained_by_the_creation_of_its_uid(self) -> None:
        """Whoever wrote to it since."""
        field = drifted("/", {"kind": "Deployment"}, declared=ABSENT, entries=(FLUX_AT_5,))
        found = linked(field, wrote(1, "/", operation="CREATE", changes=()))
        assert (found.actor, found.confidence) == ("responder", Confidence.CERTAIN)


class TestUnexplained:
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
                "there are records of an earlier object of this name",
                (wrote(1, REPLICAS, new=8, object_uid="another"),),
                id="an earlier object of that name",
            ),
            pytest.param(
                "no record changes this field",
                (wrote(1, REPLICAS, new=8, cluster="another"),),
                id="another cluster",
            ),
            pytest.param(
                "a hidden value, and the key that it is masked with is not at hand",
                (wrote(1, REPLICAS, new_masked="unknown-key:00"),),
                id="masked with a deleted key",
            ),
            pytest.param(
                "what contains the field, and keeps only a digest of it",
                (wrote(1, "/spec", new_cut=Cut(9000, "0" * 64)),),
                id="inside a value that was too large",
            ),
            pytest.param(
                "changed 3 fields more than it lists",
                (wrote(1, "/spec/paused", new=True, unlisted=3),),
                id="more changes than were listed",
            ),
            pytest.param(
                "were denied, the last one to developer at 2026-03-01 12:02:00 UTC",
                (
                    wrote(2, REPLICAS, new=8, verdict="deny", actor="developer"),
                    wrote(1, REPLICAS, new=8, verdict="deny", actor="outsider"),
                ),
                id="denied",
            ),
        ],
    )
    def test_field_without_a_matching_record_is_unexplained(
        self, why: str, history: tuple[Attempt, ...]
    ) -> None:
        found = linked(drifted(REPLICAS, 8), *history)
        assert (found.state, found.actor, found.records) == (State.UNEXPLAINED, "", ())
        assert why in found.why

    def test_another_manager_in_the_live_object_contradicts_the_record(self) -> None:
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl-patch", 5),))
        found = linked(field, wrote(1, REPLICAS, new=8, manager="kubectl-edit"))
        assert (found.state, found.actor) == (State.UNEXPLAINED, "")
        assert "managedFields name kubectl-patch" in found.why

    def test_write_before_the_first_record_is_the_reason(self) -> None:
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", -90),))
        assert "before recording began" in linked(field).why

    def test_ledger_without_records_of_the_cluster_is_the_reason(self) -> None:
        assert "holds no records" in linked(drifted(REPLICAS, 8), records_since=None).why

    def test_period_of_unrecorded_writes_is_the_reason(self) -> None:
        gap = Unseen(at(0), at(10), "the webhook failed open")
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", 5),))
        assert linked(field, unseen=(gap,)).why.startswith("the webhook failed open at that time")

    def test_deletion_does_not_explain_an_object_that_was_recreated_since(self) -> None:
        gone = drifted("/", ABSENT, ref=Ref("apps", "v1", "Deployment", "shop", "web"))
        deletion = wrote(1, REPLICAS, operation="DELETE", changes=(), object_uid="first")
        later = wrote(2, REPLICAS, new=8, object_uid="second", verdict="deny")
        assert linked(gone, later, deletion).state is State.UNEXPLAINED

    def test_value_in_neither_git_nor_record_is_unexplained(self) -> None:
        field = drifted(f"{ENV}[name=B]", {"name": "B", "value": "3"}, declared=ABSENT)
        added = wrote(1, f"{ENV}[name=B]", new={"name": "B", "value": "1"})
        assert linked(field, added).state is State.UNEXPLAINED


class TestWritesAfterTheRecord:
    """The record set the live value; perhaps another write changed it and set it again."""

    EDIT_AT_5 = held_by("kubectl-edit", 5)
    HOTFIX = wrote(1, REPLICAS, new=8, manager="kubectl-edit")

    def found(self, *later: Attempt, write: Attempt = HOTFIX, **differing: Any) -> Link:  # noqa: ANN401
        return linked(drifted(REPLICAS, 8, **{"owner_managers": FLUX} | differing), *later, write)

    def test_later_recorded_write_of_the_manager_leaves_the_link_likely(self) -> None:
        again = wrote(5, "/spec/paused", new=True, manager="kubectl-edit", actor="lead")
        holders = (self.EDIT_AT_5,)
        found = self.found(again, holders=holders, entries=holders)
        assert (found.actor, found.confidence) == ("responder", Confidence.LIKELY)

    def test_later_unrecorded_write_of_the_manager_leaves_no_actor(self) -> None:
        found = self.found(holders=(self.EDIT_AT_5,), entries=(self.EDIT_AT_5,))
        assert found.state is State.UNEXPLAINED
        assert "kubectl-edit wrote to the object at 2026-03-01T12:05:00Z" in found.why

    def test_write_of_the_owner_in_between_leaves_no_actor(self) -> None:
        again = wrote(7, "/spec/paused", new=True, manager="kubectl-edit")
        holders = (held_by("kubectl-edit", 7),)
        found = self.found(again, holders=holders, entries=(*holders, FLUX_AT_5))
        assert found.state is State.UNEXPLAINED
        assert "kustomize-controller wrote to the object" in found.why

    def test_scale_before_a_write_of_the_owner_leaves_no_actor(self) -> None:
        write = wrote(1, REPLICAS, new=8, manager="", subresource="scale")
        scaled = scaled_by("kubectl")
        found = self.found(write=write, holders=(scaled,), entries=(scaled, FLUX_AT_5))
        assert found.state is State.UNEXPLAINED

    def test_scale_followed_by_unrecorded_generations_leaves_no_actor(self) -> None:
        write = wrote(1, REPLICAS, new=8, manager="", subresource="scale", generation=4)
        entries = (scaled_by("kubectl"),)
        twice = self.found(write=write, holders=entries, entries=entries, generation=6)
        assert "spec was written 2 more times" in twice.why
        assert self.found(write=write, holders=entries, entries=entries, generation=4).actor

    def test_entry_of_the_same_second_makes_the_link_certain(self) -> None:
        holders = (held_by("kubectl-edit", 1),)
        found = self.found(holders=holders, entries=(*holders, FLUX_AT_5))
        assert found.confidence is Confidence.CERTAIN

    def test_value_applied_by_the_owner_is_not_attributed_to_a_person(self) -> None:
        assert self.found(holders=(FLUX_AT_5,)).state is State.UNEXPLAINED

    def test_value_applied_by_the_owner_after_the_grant_is_not_attributed_to_a_person(self) -> None:
        write = wrote(1, REPLICAS, new=8, grant="g1", grant_expires=at(3))
        assert self.found(write=write, holders=(FLUX_AT_5,)).state is State.UNEXPLAINED

    def test_removal_followed_by_unrecorded_generations_leaves_no_actor(self) -> None:
        """Somebody may have set it and removed it again, and managedFields do not show it."""
        removal = wrote(1, f"{ENV}[name=A]", old={"name": "A"}, generation=4)
        noted = wrote(2, "/metadata/annotations/note", new="x", generation=4)
        field = drifted(f"{ENV}[name=A]", ABSENT, declared={"name": "A"}, generation=6)
        found = linked(field, noted, removal)
        assert found.state is State.UNEXPLAINED
        assert "spec was written 2 more times than records tell of" in found.why

    @pytest.mark.parametrize(
        ("live", "differing"),
        [
            pytest.param(6, {}, id="each write since is on record"),
            pytest.param(6, {"entries": (scaled_by("autoscaler"),)}, id="not scaled since"),
            pytest.param(6, {"entries": (Entry("Apply", manager="kubectl"),)}, id="a mere repeat"),
        ],
    )
    def test_removal_with_every_later_write_accounted_for_names_its_actor(
        self, live: int, differing: dict[str, Any]
    ) -> None:
        assert self.removed(live, **differing).actor == "responder"

    @pytest.mark.parametrize(
        ("live", "differing"),
        [
            pytest.param(
                9, {"entries": (scaled_by("autoscaler"),)}, id="scaled since by an autoscaler"
            ),
            pytest.param(0, {}, id="no generation"),
        ],
    )
    def test_removal_with_unknown_later_writes_leaves_no_actor(
        self, live: int, differing: dict[str, Any]
    ) -> None:
        found = self.removed(live, **differing)
        assert (found.state, found.actor) == (State.UNEXPLAINED, "")
        assert "made it so, but nothing is left" in found.why

    def removed(self, generation: int, **differing: Any) -> Link:  # noqa: ANN401 - any field
        """Return the link of what was removed at generation 4, with two writes on record since."""
        removal = wrote(1, f"{ENV}[name=A]", old={"name": "A"}, generation=4)
        later = [wrote(n, "/spec/paused", new=n % 2 == 0, generation=3 + n) for n in (3, 2)]
        lost = {"declared": {"name": "A"}, "generation": generation}
        return linked(drifted(f"{ENV}[name=A]", ABSENT, **lost, **differing), *later, removal)

    def test_extended_grant_explains_a_value_kept_by_the_owner(self) -> None:
        write = wrote(1, REPLICAS, new=8, grant="g1", grant_expires=at(3), generation=4)
        more = wrote(2, "/", changes=(), grant="g1", grant_act="extended", grant_expires=at(9))
        found = self.found(more, write=write, holders=(FLUX_AT_5,), generation=4)
        assert found.actor == "responder"

    def test_value_kept_by_the_owner_after_unrecorded_generations_leaves_no_actor(self) -> None:
        """A scale to another value and back leaves no trace: Flux owns the field now."""
        write = wrote(1, REPLICAS, new=8, grant="g1", grant_expires=at(9), generation=4)
        assert self.found(write=write, holders=(FLUX_AT_5,), generation=5).actor == "responder"
        found = self.found(write=write, holders=(FLUX_AT_5,), generation=6)
        assert (found.state, found.actor) == (State.UNEXPLAINED, "")
        assert "made it so, but nothing is left" in found.why

    def test_write_that_repeats_the_value_does_not_contradict_the_record(self) -> None:
        holders = (held_by("kubectl-edit", 5), held_by("kubectl-annotate", -5))
        again = wrote(5, "/spec/paused", new=True, manager="kubectl-edit")
        assert self.found(again, holders=holders, entries=holders).actor == "responder"

    def test_apply_of_another_manager_contradicts_the_record(self) -> None:
        write = wrote(1, REPLICAS, new=8, grant="g1", grant_expires=at(9))
        found = self.found(write=write, holders=(held_by("kubectl", 5, "Apply"),))
        assert found.state is State.UNEXPLAINED

    def test_entry_older_than_the_record_contradicts_it(self) -> None:
        holders = (held_by("kubectl-patch", -5),)
        assert self.found(holders=holders, entries=holders).state is State.UNEXPLAINED

    def test_removal_before_a_write_of_the_owner_leaves_no_actor(self) -> None:
        field = drifted(REPLICAS, ABSENT, entries=(FLUX_AT_5,), owner_managers=FLUX, generation=4)
        found = linked(field, wrote(1, REPLICAS, old=3, generation=4))
        assert found.state is State.UNEXPLAINED
        assert "kustomize-controller wrote to the object" in found.why

    @pytest.mark.parametrize("path", ["/metadata/labels/team", "/data/level", "/"])
    def test_removal_of_a_field_without_generation_leaves_no_actor(self, path: str) -> None:
        ref = Ref("apps", "v1", "Deployment", "shop", "web", "" if path == "/" else "0b6f9e0c")
        operation = "DELETE" if path == "/" else "UPDATE"
        removal = wrote(1, path, old="x", operation=operation, generation=4)
        found = linked(drifted(path, ABSENT, ref=ref, generation=4), removal)
        assert (found.state, found.actor) == (State.UNEXPLAINED, "")
        assert "the audit log would" in found.why


class TestReasons:
    def test_record_of_a_part_leaves_the_rest_unexplained(self) -> None:
        field = drifted(f"{ENV}[name=B]", {"name": "B", "value": "2"}, declared=ABSENT)
        found = linked(field, wrote(1, f"{ENV}[name=B]/value", old="1", new="2"))
        assert found.state is State.UNEXPLAINED
        assert "changed a part of it; how the rest came there is not on record" in found.why

    def test_pruned_records_are_the_reason(self) -> None:
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", -90),))
        found = linked(field, records_since=at(-99), pruned_before=at(-80))
        assert "records from before 2026-03-01 10:40:00 UTC were pruned" in found.why

    def test_apply_of_the_owner_is_the_reason(self) -> None:
        found = linked(drifted(REPLICAS, 8, holders=(FLUX_AT_5,), owner_managers=FLUX))
        assert found.why == "its owner applied it: field manager kustomize-controller holds it"

    def test_status_is_delegated_to_the_controller_of_the_object(self) -> None:
        found = linked(drifted("/status/phase", "Failed"))
        assert found.state is State.DELEGATED
        assert found.evidence == ("a status is for the object's controller to report",)

    def test_finding_without_a_uid_gets_no_actor(self) -> None:
        field = drifted(REPLICAS, 8, ref=Ref("apps", "v1", "Deployment", "shop", "web"))
        found = linked(field, wrote(1, REPLICAS, new=8))
        assert found.actor == ""
        assert "was not told" in found.why

    @pytest.mark.parametrize(("live", "word"), [(ABSENT, "deletion"), ({}, "creation")])
    def test_reason_names_the_unrecorded_creation_or_deletion(self, live: Any, word: str) -> None:  # noqa: ANN401 - any value
        uid = "" if live is ABSENT else "u"
        field = drifted("/", live, ref=Ref("apps", "v1", "Deployment", "shop", "web", uid))
        assert linked(field).why == f"no record tells of its {word}"

    def test_record_without_its_audit_event_leaves_no_actor(self) -> None:
        write = wrote(1, REPLICAS, new=8)
        found = linked(drifted(REPLICAS, 8), write, audited=(at(0), at(9)))
        assert found.state is State.UNEXPLAINED
        assert "its witness is missing" in found.why

    def test_agreeing_managed_fields_replace_a_missing_audit_event(self) -> None:
        write = wrote(1, REPLICAS, new=8, manager="kubectl-edit")
        field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", 1),))
        assert linked(field, write, audited=(at(0), at(9))).state is State.EXPLAINED

    def test_record_outside_of_the_audit_log_needs_no_audit_event(self) -> None:
        found = linked(drifted(REPLICAS, 8), wrote(1, REPLICAS, new=8), audited=(at(5), at(9)))
        assert found.state is State.EXPLAINED


def test_evidence_of_several_sources_is_merged() -> None:
    gap, other = Unseen(at(0), at(1), "one"), Unseen(at(2), at(3), "other")
    ledger = Knowledge(at(-9), unseen=(gap,))
    audit = Knowledge(unseen=(other,), audited=(at(0), at(9)))
    assert ledger.combine(audit) == Knowledge(at(-9), unseen=(gap, other), audited=(at(0), at(9)))


class TestDelegated:
    def test_field_delegated_by_the_policy_is_delegated(self) -> None:
        holder = held_by("kube-controller-manager", 5, subresource="scale")
        field = drifted(REPLICAS, 8, delegate="hpa", holders=(holder,))
        found = linked(field, wrote(1, REPLICAS, new=5))
        assert (found.state, found.manager) == (State.DELEGATED, "kube-controller-manager")
        assert found.evidence == ("the policy delegates /spec/replicas to hpa",)

    def test_recorded_write_to_a_delegated_field_names_its_actor(self) -> None:
        field = drifted(REPLICAS, 8, delegate="hpa")
        assert linked(field, wrote(1, REPLICAS, new=8)).actor == "responder"

    def test_value_held_by_the_autoscaler_is_delegated_despite_an_equal_record(self) -> None:
        holder = held_by("kube-controller-manager", 5, subresource="scale")
        field = drifted(REPLICAS, 8, delegate="hpa", holders=(holder,))
        write = wrote(1, REPLICAS, new=8, manager="kubectl-edit")
        assert linked(field, write).state is State.DELEGATED


def test_history_is_read_only_as_far_as_needed() -> None:
    def history() -> Any:  # noqa: ANN401 - a generator
        yield wrote(1, REPLICAS, new=8)
        raise AssertionError("read too far")

    assert link(drifted(REPLICAS, 8), history(), SINCE_LONG).state is State.EXPLAINED


def test_times_of_managed_fields_are_compared_with_a_tolerance() -> None:
    write = wrote(1, REPLICAS, new=8, manager="kubectl-edit", time=at(1) + timedelta(seconds=1.9))
    field = drifted(REPLICAS, 8, holders=(held_by("kubectl-edit", 1),))
    assert linked(field, write).confidence is Confidence.CERTAIN


def test_listed_change_explains_the_field_despite_unlisted_ones() -> None:
    write = wrote(1, REPLICAS, unlisted=9, changes=(ChangedField(path=REPLICAS, new=8),))
    assert linked(drifted(REPLICAS, 8), write).state is State.EXPLAINED
