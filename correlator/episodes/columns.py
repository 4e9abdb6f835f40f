"""The columns of an observed finding, which both databases share."""

from dataclasses import astuple
from typing import Any, Final

from correlator.episodes.episode import COLUMNS, ObservedFinding

OBSERVED_COLUMNS: Final = ", ".join(f'"{name.rstrip("_")}"' for name in COLUMNS)
EPISODE: Final = f"id, cluster, first_seen, last_seen, gone, changes, {OBSERVED_COLUMNS}"

MOST_VALUES: Final = 100
"""An episode's values that are kept: one that flaps would fill the database."""


def row_of(observed: ObservedFinding) -> list[str]:
    """Return *sighting* as a row."""
    return [*astuple(observed)]


def observed_of(row: Any) -> ObservedFinding:  # noqa: ANN401 - a row, as a database gives it
    """Return the observed finding that `row_of` made a row of."""
    return ObservedFinding(**dict(zip(COLUMNS, row, strict=True)))
