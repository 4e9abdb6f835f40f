"""What a pass asks of whatever finds differences."""

from typing import Protocol

from correlator.causes import Causes
from correlator.classify import Scene
from correlator.finding import Result


class SourceFailed(Exception):
    """The source could not be read now: what it knew before may still be so."""


class Source(Protocol):
    """Finds differences, pass after pass. Belongs to one thread."""

    @property
    def name(self) -> str:
        """How findings and metrics call it."""

    @property
    def team(self) -> str:
        """Who is told what it finds; empty where nobody in particular is."""

    def read(self, scene: Scene, causes: Causes) -> Result:
        """Return all that differs now, each with its cause; raises `SourceFailed`."""

    def close(self) -> None:
        """Stop following."""
