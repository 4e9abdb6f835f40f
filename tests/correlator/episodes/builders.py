"""Sightings for tests that name only what matters to them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from correlator.episodes.episode import Episode, ObservedFinding

TIME = datetime(2026, 3, 1, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)

_SIGHTING = ObservedFinding(
    source="shop",
    group="apps",
    version="v1",
    kind="Deployment",
    namespace="prod",
    name="web",
    uid="u-1",
    field="/spec/replicas",
    declared="3",
    live="5",
    class_="desired-configuration",
    cause="person",
    response="auto-heal",
)


def a_sighting(**differences: str) -> ObservedFinding:
    return replace(_SIGHTING, **differences)


def an_episode(
    number: int = 1,
    first: datetime = TIME,
    gone: datetime | None = None,
    **differences: str,
) -> Episode:
    return Episode(number, "test", a_sighting(**differences), first, first, gone)
