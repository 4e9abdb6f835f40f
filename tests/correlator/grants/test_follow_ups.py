"""An open follow-up is inspected repeatedly, a settled one once."""

from correlator.grants import FollowUps, State
from correlator.still_live import Answer, FieldState
from glasswarden.ledger.record import Attempt, ChangedField
from tests.correlator.attribution.builders import at
from tests.correlator.grants.test_grant import STORY, granted

OTHER = (
    granted(0, "issued", grant="g2", object_uid="u2"),
    granted(1, "used", "/spec/paused", grant="g2", object_uid="u2", new=True),
)


class Cluster:
    """Returns the state of changes, and records what it was asked about."""

    def __init__(self) -> None:
        self.live = {"g1": Answer.YES, "g2": Answer.YES}
        self.asked: list[str] = []

    def __call__(self, attempt: Attempt, _change: ChangedField) -> FieldState:
        self.asked.append(attempt.grant)
        return FieldState(self.live[attempt.grant])

    def states(self, owed: FollowUps, minute: float) -> dict[str, State]:
        self.asked.clear()
        grants = owed.check([*STORY, *OTHER], self, at(minute))
        return {grant.id: grant.state_at(at(minute)) for grant in grants}


def test_open_grant_is_not_inspected() -> None:
    cluster = Cluster()
    assert set(cluster.states(FollowUps(), 5).values()) == {State.OPEN}
    assert cluster.asked == []


def test_ended_grant_is_inspected_until_it_is_settled() -> None:
    cluster, owed = Cluster(), FollowUps()
    assert cluster.states(owed, 31) == {"g1": State.OVERDUE, "g2": State.OVERDUE}
    cluster.live["g1"] = Answer.NO
    assert cluster.states(owed, 32) == {"g1": State.SETTLED, "g2": State.OVERDUE}
    assert cluster.asked == ["g1", "g2"]
    assert cluster.states(owed, 33) == {"g1": State.SETTLED, "g2": State.OVERDUE}
    assert cluster.asked == ["g2"]


def test_failed_inspection_of_a_grant_is_retried() -> None:
    cluster, owed = Cluster(), FollowUps()
    cluster.live = {"g1": Answer.UNKNOWN, "g2": Answer.NO}
    assert cluster.states(owed, 31) == {"g1": State.UNCHECKED, "g2": State.SETTLED}
    cluster.states(owed, 32)
    assert cluster.asked == ["g1"]
