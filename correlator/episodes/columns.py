"""What both databases call a sighting's parts."""

from dataclasses import astuple
from typing import Any, Final

from correlator.episodes.episode import COLUMNS, Sighting

SIGHTED: Final = ", ".join(f'"{name.rstrip("_")}"' for name in COLUMNS)
EPISODE: Final = f"id, cluster, first_seen, last_seen, gone, changes, {SIGHTED}"

MOST_VALUES: Final = 100
"""An episode's values that are kept: one that flaps would fill the database."""


def row_of(sighting: Sighting) -> list[str]:
    """Return *sighting* as a row."""
    return [*astuple(sighting)]


def sighting_of(row: Any) -> Sighting:  # noqa: ANN401 - a row, as a database gives it
    """Return the sighting that `row_of` made a row of."""
    return Sighting(**dict(zip(COLUMNS, row, strict=True)))
