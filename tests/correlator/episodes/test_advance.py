"""`advance`: what a pass adds to what is open."""

from correlator.episodes.episode import Changes, advance
from tests.correlator.episodes.builders import a_sighting, an_episode


def test_first_of_two_sightings_of_one_finding_opens_the_episode() -> None:
    one, other = a_sighting(source="shop"), a_sighting(source="ledger")
    assert advance([], [one, other], lambda _: False) == Changes(opened=(one,))


def test_episodes_are_opened_in_the_order_of_their_sightings() -> None:
    seen = [a_sighting(name=name) for name in "cab"]
    assert advance([], seen, lambda _: False).opened == tuple(seen)


def test_episode_of_an_incomplete_source_stays_open() -> None:
    episodes = [an_episode(1, source="shop"), an_episode(2, source="gone", field="/spec")]
    changes = advance(episodes, [], lambda episode: episode.last.source == "shop")
    assert changes == Changes(gone=(episodes[1],))


def test_object_with_another_uid_opens_another_episode() -> None:
    before, now = an_episode(uid="u-1"), a_sighting(uid="u-2")
    assert advance([before], [now], lambda _: False) == Changes(opened=(now,), gone=(before,))


def test_another_api_version_continues_the_episode() -> None:
    before, now = an_episode(version="v1beta1"), a_sighting(version="v1")
    assert advance([before], [now], lambda _: False) == Changes(updated=((before, now),))
