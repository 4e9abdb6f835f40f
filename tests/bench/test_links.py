"""The row about links counts what the examination prints."""

from collections import Counter

import pytest

from bench.links import history_in, outcomes_in, told
from tests.cluster.link_exam import Sort
from tests.cluster.test_links import print_table


def test_outcomes_are_counted_from_the_printed_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """By the printer itself, so that a change of it is noticed here."""
    print_table(Counter({(str(Sort.PLAIN), "right"): 5, (str(Sort.EMERGENCY), "WRONG"): 1}), "a")
    print_table(Counter({(str(Sort.PLAIN), "right"): 6}), "with the audit log")
    tables = capsys.readouterr().out
    printed = f"\nseed 7; the same again\nwrites: 12 person, 3 of these denied\n{tables}"
    outcomes = outcomes_in(printed)
    assert (outcomes["right"], outcomes["WRONG"], outcomes.total()) == (11, 1, 12)
    assert told(outcomes) == "11 right, 1 WRONG"
    assert history_in(printed) == "seed 7; 12 person, 3 of these denied"
    assert outcomes_in("no table").total() == 0
