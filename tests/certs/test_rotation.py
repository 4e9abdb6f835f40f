"""The order of a rotation: trusted before it is served, served before the old one leaves."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.authority import is_issued_by
from certs.rotation import Phase, State, Timing, advance, begin_rotation, is_due, next_change_of
from tests.certs.builders import HOSTS, NOW, TIMING, overlapping, publishing, steady

SECOND = timedelta(seconds=1)


def trusts_what_is_served(state: State, trusted: State) -> bool:
    return any(is_issued_by(state.serving.certificate, each) for each in trusted.authorities)


@pytest.mark.parametrize(
    ("state", "after", "published", "phase"),
    [
        pytest.param(steady, timedelta(), True, Phase.STEADY, id="young"),
        pytest.param(steady, timedelta(days=60) - SECOND, True, Phase.STEADY, id="not yet due"),
        pytest.param(steady, timedelta(days=60), True, Phase.PUBLISHING, id="a third is left"),
        pytest.param(steady, timedelta(days=99), True, Phase.PUBLISHING, id="expired"),
        pytest.param(publishing, timedelta(days=1), False, Phase.PUBLISHING, id="not published"),
        pytest.param(publishing, timedelta(days=1), True, Phase.PUBLISHING, id="just published"),
        pytest.param(overlapping, TIMING.overlap, True, Phase.OVERLAPPING, id="old one stays"),
        pytest.param(
            overlapping, TIMING.settle + TIMING.overlap, True, Phase.STEADY, id="old one leaves"
        ),
    ],
)
def test_phase_advances_only_after_its_waiting_time(
    state: Callable[[], State], after: timedelta, *, published: bool, phase: Phase
) -> None:
    moved = advance(state(), HOSTS, NOW + after, TIMING, published=published)
    assert moved.phase is phase


def test_certificate_is_served_after_its_authority_was_published_for_the_settle_time() -> None:
    seen = advance(publishing(), HOSTS, NOW, TIMING, published=True)
    early = advance(seen, HOSTS, NOW + TIMING.settle - SECOND, TIMING, published=True)
    served = advance(early, HOSTS, NOW + TIMING.settle, TIMING, published=True)
    assert (early.phase, served.phase) == (Phase.PUBLISHING, Phase.OVERLAPPING)
    assert served.serving == early.coming
    assert len(served.authorities) == 2


def test_removed_authority_restarts_the_settle_time() -> None:
    seen = advance(publishing(), HOSTS, NOW, TIMING, published=True)
    lost = advance(seen, HOSTS, NOW + SECOND, TIMING, published=False)
    again = advance(lost, HOSTS, NOW + TIMING.settle, TIMING, published=True)
    assert again.phase is Phase.PUBLISHING
    assert again.published_since == NOW + SECOND


def test_overlap_does_not_end_before_its_time() -> None:
    state = overlapping()
    assert advance(state, HOSTS, NOW + TIMING.overlap, TIMING, published=True) is state


def test_changed_hosts_make_a_certificate_due() -> None:
    assert is_due(steady(), (*HOSTS, "elsewhere.example"), NOW)
    assert not is_due(steady(), HOSTS, NOW)


def test_another_spelling_of_an_ip_address_makes_no_certificate_due() -> None:
    state = advance(steady(), ("::1",), NOW, TIMING, published=True).coming
    assert state is not None
    again = begin_rotation(steady(), ("::1",), NOW, TIMING)
    served = State(again.authorities, state, NOW)
    assert not is_due(served, ("0:0:0:0:0:0:0:1",), NOW)


def test_rotation_in_progress_is_not_begun_twice() -> None:
    state = publishing()
    assert begin_rotation(state, HOSTS, NOW, TIMING) is state


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(steady, NOW + timedelta(days=60), id="steady"),
        pytest.param(publishing, None, id="waiting for others"),
        pytest.param(overlapping, NOW + TIMING.settle + TIMING.overlap, id="overlapping"),
    ],
)
def test_next_change_is_known_where_only_time_decides(
    state: Callable[[], State], expected: object
) -> None:
    assert next_change_of(state(), TIMING) == expected


moments = st.lists(
    st.tuples(st.integers(0, 40), st.booleans(), st.booleans()), min_size=1, max_size=12
)


@settings(max_examples=60, deadline=None)
@given(moments)
def test_served_certificate_is_always_trusted_by_the_published_bundle(
    steps: list[tuple[int, bool, bool]],
) -> None:
    """API servers may still go by the last bundle that was published; replicas serve late."""
    timing = Timing(timedelta(seconds=90), timedelta(seconds=5), timedelta(seconds=20))
    state = published = steady(NOW)
    now = NOW
    for seconds, reaches_the_configurations, asked_for in steps:
        now += timedelta(seconds=seconds)
        if asked_for:
            state = begin_rotation(state, HOSTS, now, timing)
        state = advance(state, HOSTS, now, timing, published=published.bundle == state.bundle)
        if reaches_the_configurations:
            published = state
        assert trusts_what_is_served(state, published)
