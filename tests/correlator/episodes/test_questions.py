"""What is asked of a history."""

from correlator.episodes.episode import Day, EpisodeFilter, find_repeated, trend_of
from tests.correlator.episodes.builders import DAY, MINUTE, TIME, an_episode


def test_episodes_are_filtered_by_application_class_and_state() -> None:
    one = an_episode(app="shop", class_="orphan", state="unexplained")
    other = an_episode(app="blog", class_="orphan", state="explained")
    assert EpisodeFilter().select([one, other]) == [one, other]
    assert EpisodeFilter(app="shop").select([one, other]) == [one]
    assert EpisodeFilter(class_="orphan", state="explained").select([one, other]) == [other]
    assert EpisodeFilter(class_="runtime-metadata").select([one, other]) == []


def test_recurring_drift_of_a_field_is_counted() -> None:
    often = [an_episode(n, TIME + n * MINUTE, uid=f"u-{n}") for n in range(3)]
    twice = [an_episode(n, field="/spec/paused") for n in (4, 5)]
    once = an_episode(6, name="other")
    found = find_repeated([once, *twice, *often])
    assert [*found.values()] == [often, twice]
    assert [place.field for place in found] == ["/spec/replicas", "/spec/paused"]
    assert [*find_repeated([once, *twice, *often], times=3).values()] == [often]


def test_trend_has_episodes_by_day() -> None:
    episodes = [
        an_episode(1, TIME - DAY),
        an_episode(2, TIME, gone=TIME + MINUTE),
        an_episode(3, TIME, gone=TIME + DAY),
        an_episode(4, TIME + 2 * DAY),
    ]
    first = TIME.date()
    assert trend_of(episodes, first, first + 2 * DAY) == [
        Day(first, opened=2, gone=1, open=2),
        Day(first + DAY, opened=0, gone=1, open=1),
        Day(first + 2 * DAY, opened=1, gone=0, open=2),
    ]
