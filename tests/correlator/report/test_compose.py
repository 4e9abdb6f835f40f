"""A report says what happened, what became of it, and what is left to do."""

import shlex
from typing import Any

import pytest

from correlator.attribution.context import Witness
from correlator.report.compose import compose_report
from correlator.report.model import Report, Scope
from correlator.report.text import title_of
from correlator.still_live import Answer, FieldState, LiveCheck
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.record import Attempt
from tests.correlator.attribution.builders import UID, at, wrote
from tests.correlator.report.builders import IMAGE, around, granted, the_report

REPLICAS = "/spec/replicas"


def a_live(**spec: Any) -> Object:  # noqa: ANN401 - any field
    metadata = {"name": "web", "namespace": "shop", "uid": UID}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def looked_at(
    *attempts: Attempt,
    live: Object | None = None,
    git: Object | None = None,
    **known: Any,  # noqa: ANN401 - any field of what is around
) -> Report:
    """Return the report about *attempts*, when *live* stands there and *git* declares it."""

    def find(found: Object | None, _: Ref) -> Object | None:
        return found

    check_field = LiveCheck(lambda ref: find(live, ref), lambda ref: find(git, ref))
    beside = around(**{"check_field": check_field, "unexplained": ()} | known)
    return compose_report(Scope(ticket="INC-42"), attempts, beside, at(60))


def test_summary_has_five_lines() -> None:
    assert the_report().summary == (
        "INC-42: 5 writes by hand to 3 objects, by responder, from 2026-03-01 12:01 to 12:05 UTC.",
        "1 attempt denied, by developer.",
        "Of 4 changed fields: 2 still live, 1 no longer live, 1 not checked in the cluster.",
        "3 open follow-ups. 1 drifted field unexplained.",
        "3 chains verified, nothing missing.",
    )


def test_tries_of_one_write_are_one_write() -> None:
    assert [len(write.records) for write in the_report().writes] == [1, 1, 1, 2, 1, 1, 1]


def test_field_set_twice_is_judged_by_its_last_write() -> None:
    first, *_, last = [
        change
        for write in the_report().admitted
        for change in write.changes
        if change.path == "/spec/replicas"
    ]
    assert (first.superseded, last.superseded) == (True, False)
    assert (first.live, last.live) == (Answer.UNKNOWN, Answer.NO)


def test_hidden_values_are_not_in_the_report() -> None:
    [change] = the_report().writes[4].changes
    assert (change.old_note, change.new_note) == ("(hidden)", "(hidden)")


def test_live_change_missing_from_git_is_a_follow_up() -> None:
    obligation, *_ = the_report().obligations
    assert obligation.path == IMAGE
    assert obligation.why == "overdue: still live, not in Git, and the grant has ended"
    obligation, *_ = the_report(open_grants=frozenset({"g1"})).obligations
    assert obligation.why == "still live, not in Git; the grant is open"


def test_change_merged_into_git_is_no_follow_up() -> None:
    everywhere = FieldState(Answer.YES, Answer.YES)
    report = compose_report(
        Scope(ticket="INC-42"),
        [granted(1, IMAGE, new="web:2")],
        around(check_field=lambda _attempt, _change: everywhere, unexplained=()),
        at(60),
    )
    assert report.obligations == ()


def test_empty_report_states_that_nothing_was_changed() -> None:
    report = compose_report(Scope(ticket="INC-43"), [], around(unexplained=()), at(60))
    assert report.summary[0] == "INC-43: nothing was changed by hand."
    assert report.summary[3] == "No open follow-up is known."


def test_unexplained_drift_is_a_follow_up_with_values_and_reason() -> None:
    [unexplained] = the_report().unexplained
    assert (unexplained.declared, unexplained.live) == ("primary", "standby")
    last = the_report().obligations[-1]
    assert (last.path, last.command) == ("/data/mode", unexplained.command)
    assert last.why == (
        "not as Git says, no record changes this field since recording began;"
        " put it back, or change settings.yaml:1"
    )


class TestWritesNotStored:
    """A record proves only an attempt: an allowed write that was not stored supersedes nothing."""

    FIRST = granted(1, REPLICAS, old=5, new=8)
    SECOND = granted(2, REPLICAS, old=8, new=12)

    @pytest.mark.parametrize(
        "witnesses",
        [
            pytest.param({SECOND.id: Witness("responder", stored=False)}, id="by the audit log"),
            pytest.param({}, id="by what is live"),
        ],
    )
    def test_write_of_the_live_value_is_not_superseded_by_one_that_was_not_stored(
        self, witnesses: dict[str, Witness]
    ) -> None:
        report = looked_at(
            self.FIRST, self.SECOND, live=a_live(replicas=8), git=a_live(), witnesses=witnesses
        )
        [[first], [second]] = [write.changes for write in report.writes]
        assert (first.superseded, first.live) == (False, Answer.YES)
        assert (second.superseded, second.live) == (False, Answer.NO)
        assert [each.path for each in report.obligations] == [REPLICAS]

    def test_stored_write_supersedes_the_write_of_the_live_value(self) -> None:
        """Then whoever put the first value back is not on record, and it is not the first."""
        stored = {self.SECOND.id: Witness("responder", stored=True)}
        report = looked_at(self.FIRST, self.SECOND, live=a_live(replicas=8), witnesses=stored)
        assert [write.changes[0].superseded for write in report.writes] == [True, False]


class TestWholeObjects:
    DELETED = granted(1, "/", operation="DELETE", changes=())
    CREATED = granted(1, "/", operation="CREATE", changes=(), object_uid="")

    def test_deleted_object_declared_in_git_is_a_follow_up(self) -> None:
        report = looked_at(self.DELETED, git=a_live())
        [obligation] = report.obligations
        assert obligation.path == "/"
        assert obligation.why == "overdue: still deleted, still in Git, and the grant has ended"
        assert obligation.command.endswith("--prune")

    def test_created_object_missing_from_git_is_a_follow_up(self) -> None:
        report = looked_at(self.CREATED, live=a_live())
        [obligation] = report.obligations
        assert obligation.why == "overdue: still live, not in Git, and the grant has ended"
        assert obligation.command == "kubectl get deployment/web -n shop -o yaml"

    def test_object_both_live_and_declared_is_no_follow_up(self) -> None:
        assert looked_at(self.DELETED, live=a_live(), git=a_live()).obligations == ()
        assert looked_at(self.CREATED, live=a_live(), git=a_live()).obligations == ()

    def test_creation_that_was_deleted_again_is_superseded(self) -> None:
        deleted = granted(2, "/", operation="DELETE", changes=())
        report = looked_at(self.CREATED, deleted)
        assert [write.changes[0].superseded for write in report.writes] == [True, False]
        assert report.obligations == ()


def test_suggested_command_quotes_hostile_names() -> None:
    write = wrote(1, REPLICAS, new=8, name="web; reboot", kind="$(id)", namespace="a b")
    report = looked_at(write, live=a_live(replicas=8))
    [obligation] = report.obligations
    named = ["glasswarden", "blame", "$(id)/web; reboot", "-n", "a b"]
    assert shlex.split(obligation.command) == named


def test_suggested_command_contains_the_compared_files() -> None:
    files = ("--repo", ".", "--path", "deploy")
    report = looked_at(granted(1, REPLICAS, new=8), live=a_live(replicas=8), repository=files)
    [obligation] = report.obligations
    assert obligation.command == "glasswarden backport --ticket INC-42 --repo . --path deploy"
    report = looked_at(granted(1, REPLICAS, new=8), live=a_live(replicas=8))
    assert report.obligations[0].command.endswith("--repo DIR --path FOLDER")


def test_summary_of_one_write_has_one_time() -> None:
    report = looked_at(granted(1, REPLICAS, new=8))
    assert report.summary[0].endswith("by responder, at 2026-03-01 12:01 UTC.")


def test_request_for_a_grant_is_no_write() -> None:
    asked = granted(1, "/", changes=(), grant_act="issued")
    assert looked_at(asked).summary[0] == "INC-42: nothing was changed by hand."


def test_time_bounds_are_in_title_and_summary() -> None:
    scope = Scope(namespace="shop", cluster="prod", since=at(0), until=at(30))
    assert title_of(scope) == (
        "Changes by hand: shop, cluster prod, since 2026-03-01 12:00 UTC,"
        " until 2026-03-01 12:30 UTC"
    )
    assert (
        compose_report(scope, [], around(), at(60))
        .summary[0]
        .startswith("shop, cluster prod, since")
    )
