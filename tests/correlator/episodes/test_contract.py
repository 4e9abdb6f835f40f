"""What every history does, whichever database keeps it: the `History` protocol, specified."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import datetime

import pytest

from correlator.episodes.columns import MOST_VALUES
from correlator.episodes.episode import (
    Changes,
    History,
    LeadershipLost,
    ObservedFinding,
    Term,
    advance,
)
from correlator.episodes.open import open_history
from tests.correlator.episodes.builders import DAY, MINUTE, TIME, a_sighting

CLUSTER = "test"


@pytest.fixture
def opener(address: str) -> Iterator[Callable[[], History]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(open_history(address)))


@pytest.fixture
def history(opener: Callable[[], History]) -> History:
    return opener()


@pytest.fixture
def term(history: History) -> Term:
    return history.lead(CLUSTER, "one", TIME)


def pass_(history: History, term: Term, now: datetime, *seen: ObservedFinding) -> None:
    changes = advance(history.open(term.cluster), seen, lambda _: False)
    history.store(term, changes, now)


def test_first_sighting_opens_an_episode(history: History, term: Term) -> None:
    pass_(history, term, TIME, a_sighting())
    [episode] = history.open(CLUSTER)
    assert episode.last == a_sighting()
    assert (episode.first_seen, episode.last_seen, episode.gone) == (TIME, TIME, None)
    assert episode.cluster == CLUSTER


def test_every_field_of_a_sighting_is_stored(history: History, term: Term) -> None:
    whole = ObservedFinding(**{name: f"{name} ü" for name in ObservedFinding.__slots__})
    pass_(history, term, TIME, whole)
    [episode] = history.open(CLUSTER)
    assert episode.last == whole


def test_repeated_sighting_continues_the_episode(history: History, term: Term) -> None:
    pass_(history, term, TIME, a_sighting())
    pass_(history, term, TIME + MINUTE, a_sighting())
    [episode] = history.open(CLUSTER)
    assert (episode.first_seen, episode.last_seen) == (TIME, TIME + MINUTE)
    assert episode.changes == 0


def test_changed_value_continues_the_episode_with_both_values(history: History, term: Term) -> None:
    pass_(history, term, TIME, a_sighting(live="5"))
    pass_(history, term, TIME + MINUTE, a_sighting(live="7"))
    [episode] = history.open(CLUSTER)
    assert (episode.last.live, episode.changes) == ("7", 1)
    values = [(TIME, "3", "5"), (TIME + MINUTE, "3", "7")]
    assert [tuple(each) for each in history.values(episode.id)] == values


def test_cause_found_later_does_not_count_as_a_changed_value(history: History, term: Term) -> None:
    pass_(history, term, TIME, a_sighting(state="unexplained"))
    pass_(history, term, TIME + MINUTE, a_sighting(state="explained", actor="developer"))
    [episode] = history.open(CLUSTER)
    assert (episode.last.actor, episode.changes) == ("developer", 0)
    assert len(history.values(episode.id)) == 1


def test_missing_sighting_closes_the_episode(history: History, term: Term) -> None:
    pass_(history, term, TIME, a_sighting())
    pass_(history, term, TIME + MINUTE)
    assert history.open(CLUSTER) == []
    [episode] = history.episodes(TIME)
    assert (episode.last_seen, episode.gone) == (TIME, TIME + MINUTE)


def test_recurring_finding_opens_another_episode(history: History, term: Term) -> None:
    for minute, seen in enumerate([[a_sighting()], [], [a_sighting()]]):
        pass_(history, term, TIME + minute * MINUTE, *seen)
    gone, back = history.episodes(TIME)
    assert (gone.gone, back.gone) == (TIME + MINUTE, None)
    assert back.first_seen == TIME + 2 * MINUTE


def test_pass_without_sightings_stores_nothing(history: History, term: Term) -> None:
    history.store(term, Changes(), TIME)
    assert history.episodes(TIME) == []


def test_episodes_are_queried_by_the_time_they_were_open(history: History, term: Term) -> None:
    pass_(history, term, TIME, a_sighting(name="short"), a_sighting(name="long"))
    pass_(history, term, TIME + MINUTE, a_sighting(name="long"))

    def names(since: datetime) -> list[str]:
        return [each.last.name for each in history.episodes(since)]

    assert names(TIME) == ["short", "long"]
    assert names(TIME + MINUTE) == ["short", "long"]
    assert names(TIME + 2 * MINUTE) == ["long"]


def test_episodes_of_clusters_are_separate(history: History, term: Term) -> None:
    other = history.lead("other", "one", TIME)
    pass_(history, term, TIME, a_sighting())
    pass_(history, other, TIME)
    assert len(history.open(CLUSTER)) == 1
    assert history.open("other") == []
    assert history.episodes(TIME, "other") == []
    assert len(history.episodes(TIME)) == 1


def test_new_leader_deposes_the_previous_one(
    history: History, term: Term, opener: Callable[[], History]
) -> None:
    other = opener()
    newer = other.lead(CLUSTER, "two", TIME)
    with pytest.raises(LeadershipLost):
        history.store(term, Changes(opened=(a_sighting(),)), TIME)
    with pytest.raises(LeadershipLost):
        history.forget(term, TIME, 0)
    assert other.open(CLUSTER) == []
    pass_(other, newer, TIME, a_sighting())
    assert len(history.open(CLUSTER)) == 1


def test_old_closed_episode_is_deleted_with_its_values(history: History, term: Term) -> None:
    pass_(history, term, TIME, a_sighting(name="old"))
    pass_(history, term, TIME + MINUTE, a_sighting(name="recent"))
    [old, _] = history.episodes(TIME)
    pass_(history, term, TIME + DAY, a_sighting(name="open"))
    assert history.forget(term, TIME + DAY, most=100) == 1
    assert [each.last.name for each in history.episodes(TIME)] == ["recent", "open"]
    assert history.values(old.id) == []


def test_oldest_closed_episodes_beyond_the_limit_are_deleted(history: History, term: Term) -> None:
    def seen(names: Sequence[str], minutes: int) -> None:
        pass_(history, term, TIME + minutes * MINUTE, *(a_sighting(name=name) for name in names))

    seen(["a", "b", "c", "open"], 0)
    seen(["b", "c", "open"], 1)
    seen(["c", "open"], 2)
    seen(["open"], 3)
    assert history.forget(term, TIME, most=1) == 2
    assert [each.last.name for each in history.episodes(TIME)] == ["c", "open"]


def test_stored_values_of_a_flapping_field_are_limited(history: History, term: Term) -> None:
    for number in range(MOST_VALUES + 3):
        pass_(history, term, TIME + number * MINUTE, a_sighting(live=str(number)))
    [episode] = history.open(CLUSTER)
    assert episode.changes == MOST_VALUES + 2
    values = history.values(episode.id)
    assert [each.live for each in values] == [str(n) for n in range(3, MOST_VALUES + 3)]
