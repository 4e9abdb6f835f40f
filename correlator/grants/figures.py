"""How many grants stand how: what Prometheus is told, and alerts go by."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from correlator.grants.grant import Grant, State


def figures_of(grants: Iterable[Grant], now: datetime) -> dict[State, int]:
    """Return how many of *grants* are in each state at *now*, zeros too."""
    counted = Counter(grant.state(now) for grant in grants)
    return {state: counted[state] for state in State}
