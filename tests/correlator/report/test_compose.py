"""A report says what happened, what became of it, and what is left to do."""

from correlator.report.compose import compose
from correlator.report.model import Scope
from correlator.standing import Answer, Standing
from tests.correlator.link.builders import at
from tests.correlator.report.builders import IMAGE, around, granted, the_report


def test_the_summary_says_it_in_five_lines() -> None:
    assert the_report().summary == (
        "INC-42: 6 writes by hand to 3 objects, by responder, from 2026-03-01 12:00 to 12:05 UTC.",
        "1 attempt refused, by developer.",
        "Of 3 changed fields: 1 still live, 1 no longer live, 1 not looked at in the cluster.",
        "1 obligation open. 1 drifted field unexplained.",
        "3 chains verified, nothing missing.",
    )


def test_the_tries_of_one_write_are_one_write() -> None:
    assert [len(write.records) for write in the_report().writes] == [1, 1, 1, 2, 1, 1, 1]


def test_a_field_that_was_set_again_is_judged_by_its_last_write() -> None:
    first, *_, last = [
        change
        for write in the_report().admitted
        for change in write.changes
        if change.path == "/spec/replicas"
    ]
    assert (first.superseded, last.superseded) == (True, False)
    assert (first.live, last.live) == (Answer.UNKNOWN, Answer.NO)


def test_hidden_values_stay_hidden() -> None:
    [change] = the_report().writes[4].changes
    assert (change.old_note, change.new_note) == ("(hidden)", "(hidden)")


def test_what_is_live_and_not_in_git_is_left_to_do() -> None:
    [obligation] = the_report().obligations
    assert obligation.path == IMAGE
    assert obligation.why == "overdue: still live, not in Git, and the grant has ended"
    [obligation] = the_report(open_grants=frozenset({"g1"})).obligations
    assert obligation.why == "still live, not in Git; the grant is open"


def test_what_git_has_taken_over_is_not() -> None:
    everywhere = Standing(Answer.YES, Answer.YES)
    report = compose(
        Scope(ticket="INC-42"),
        [granted(1, IMAGE, new="web:2")],
        around(standing=lambda _attempt, _change: everywhere),
        at(60),
    )
    assert report.obligations == ()


def test_a_report_about_nothing_says_so() -> None:
    report = compose(Scope(ticket="INC-43"), [], around(unexplained=()), at(60))
    assert report.summary[0] == "INC-43: nothing was changed by hand."
    assert report.summary[3] == "Nothing is known to be left to do."
