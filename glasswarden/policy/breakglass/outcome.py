"""What became of the changes under a grant, as people write it when it ends, or later."""

from dataclasses import dataclass
from typing import Final

WORDS: Final = ("reverted", "backported", "delegated")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of the three words, and of which grant it is said."""

    word: str
    grant: str = ""
    """Its id, written as `delegated:ID`; without it, the grant whose stamp is on the object."""


def parse_outcome(text: str) -> Outcome | None:
    """Return what *text* says; nothing where it is no outcome."""
    word, _, grant = text.partition(":")
    return Outcome(word, grant) if word in WORDS else None


def no_outcome(text: str) -> str:
    """Return why *text* is refused."""
    return f"the outcome {text!r} is none of {', '.join(sorted(WORDS))}"
