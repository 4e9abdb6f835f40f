"""One pass of the certificate controller: from the stored state and the configurations to the next.

Level-triggered: a pass uses only the current state, so a missed pass has no effect. If two
controllers overlap while the leader changes, one of them gets a conflict and reads again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from certs.configurations import Condition, Conditions, is_published
from certs.files import StateUnreadable
from certs.rotation import State, Timing, advance, first_state


class Store(Protocol):
    """Stores the state of a rotation."""

    @property
    def location(self) -> str:
        """Its name in messages."""

    def read(self) -> State | None:
        """Return the stored state, if any. Raises `StateUnreadable`."""

    def write(self, state: State) -> None:
        """Store *state*."""


Publish = Callable[[bytes], Conditions]
"""Writes a bundle into the configurations, and returns their conditions."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The result of one pass."""

    state: State
    conditions: Conditions
    problem: str = ""
    """Why the stored state was unusable, so that new certificates were issued."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The configurations that must exist and do not."""
        return tuple(
            f"{each.resource}/{each.name}"
            for each, condition in self.conditions.items()
            if condition is Condition.MISSING
        )


@dataclass(frozen=True, slots=True)
class CertificateController:
    """Maintains one store of certificates, and the configurations that trust them."""

    store: Store
    publish: Publish
    hosts: Sequence[str]
    timing: Timing

    def run_pass(self, now: datetime) -> Pass:
        """Run one pass: publish the trusted authorities, and advance the rotation if it is time."""
        state, problem = self._read_or_issue(now)
        conditions = self.publish(state.bundle)
        published = is_published(conditions)
        following = advance(state, self.hosts, now, self.timing, published=published)
        if following != state:
            self.store.write(following)
        if following.bundle != state.bundle:
            # Trusted from this pass on; the served certificate changes in a later pass.
            conditions |= self.publish(following.bundle)
        return Pass(following, conditions, problem)

    def _read_or_issue(self, now: datetime) -> tuple[State, str]:
        """Return the stored state, or a new one if there is none that is usable."""
        problem = ""
        try:
            if stored := self.store.read():
                return stored, ""
        except StateUnreadable as error:
            # The webhook cannot load it either, so replacing it breaks nothing.
            problem = str(error)
        state = first_state(self.hosts, now, self.timing)
        self.store.write(state)
        return state, problem
