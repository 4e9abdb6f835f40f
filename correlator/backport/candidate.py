"""A place where a field could be declared, tried out on a copy of the files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from correlator.backport.tree import Tree


@dataclass(frozen=True, slots=True)
class Candidate:
    """The files with the field declared there."""

    tree: Tree
    where: str
    """The file and, inside of it, the part: for people."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A place that is the right one, and why it cannot be used."""

    where: str
    why: str


Candidates: TypeAlias = Iterator[Candidate | Refused]
"""Best first."""
