"""One pass of the keeper: from what is kept and what is seen to what comes next.

Level-triggered: a pass works from the current state alone, so a missed one costs nothing, and two
keepers that overlap in a change of leaders can only be told to read again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from certs.configurations import Condition, Sightings, is_published
from certs.files import StateUnreadable
from certs.rotation import State, Timing, advance, first_state


class Store(Protocol):
    """Where a rotation is kept."""

    @property
    def place(self) -> str:
        """How messages call it."""

    def read(self) -> State | None:
        """Return the state that is kept, if any. Raises `StateUnreadable`."""

    def write(self, state: State) -> None:
        """Keep *state*."""


Publish = Callable[[bytes], Sightings]
"""Brings a bundle into the configurations, and tells how each was found."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass left behind."""

    state: State
    sightings: Sightings
    complaint: str = ""
    """Why what was kept could not be used, and was issued anew."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The configurations that have to be there and are not."""
        return tuple(
            f"{each.resource}/{each.name}"
            for each, condition in self.sightings.items()
            if condition is Condition.MISSING
        )


@dataclass(frozen=True, slots=True)
class Keeper:
    """Keeps one store and the configurations that trust it."""

    store: Store
    publish: Publish
    hosts: Sequence[str]
    timing: Timing

    def turn(self, now: datetime) -> Pass:
        """Make one pass: publish what is trusted, and take a rotation as far as it may go."""
        state, complaint = self._state(now)
        sightings = self.publish(state.bundle)
        published = is_published(sightings)
        moved = advance(state, self.hosts, now, self.timing, published=published)
        if moved != state:
            self.store.write(moved)
        if moved.bundle != state.bundle:
            # Trusted from this pass on; what is served changes in a later one.
            sightings |= self.publish(moved.bundle)
        return Pass(moved, sightings, complaint)

    def _state(self, now: datetime) -> tuple[State, str]:
        """Return what is kept; where nothing usable is, what is from now on."""
        complaint = ""
        try:
            if kept := self.store.read():
                return kept, ""
        except StateUnreadable as error:
            # The webhook cannot load it either: there is nothing to be careful of.
            complaint = str(error)
        state = first_state(self.hosts, now, self.timing)
        self.store.write(state)
        return state, complaint
