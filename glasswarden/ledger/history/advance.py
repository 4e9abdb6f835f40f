"""From what is open and what was seen to what changed. Pure."""

from collections.abc import Callable, Iterable

from glasswarden.ledger.history.episode import Changes, Episode, Sighting


def advance(
    open_: Iterable[Episode], seen: Iterable[Sighting], doubted: Callable[[Episode], bool]
) -> Changes:
    """Return what a pass adds; an unseen episode that is *doubted* stays open.

    Of several sightings of one finding the first counts.
    """
    found = {each.identity: each for each in reversed([*seen])}
    unchanged, updated, gone = [], [], []
    for episode in open_:
        sighting = found.pop(episode.last.identity, None)
        if sighting is None:
            if not doubted(episode):
                gone.append(episode)
        elif sighting == episode.last:
            unchanged.append(episode)
        else:
            updated.append((episode, sighting))
    opened = tuple(reversed(found.values()))
    return Changes(opened, tuple(unchanged), tuple(updated), tuple(gone))
