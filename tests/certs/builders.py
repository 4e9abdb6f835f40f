"""States of a rotation, built by the steps that lead to them."""

from datetime import UTC, datetime, timedelta

from certs.rotation import State, Timing, advance, begin_rotation, first_state

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTS = ("glasswarden.glasswarden.svc",)
TIMING = Timing(
    lifetime=timedelta(days=90), settle=timedelta(seconds=30), overlap=timedelta(hours=1)
)


def steady(now: datetime = NOW) -> State:
    return first_state(HOSTS, now, TIMING)


def publishing(now: datetime = NOW) -> State:
    return begin_rotation(steady(now), HOSTS, now, TIMING)


def overlapping(now: datetime = NOW) -> State:
    state = advance(publishing(now), HOSTS, now, TIMING, published=True)
    return advance(state, HOSTS, now + TIMING.settle, TIMING, published=True)
