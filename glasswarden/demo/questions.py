"""What somebody asks after the incident, as commands typed in the demo's folder."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from glasswarden.demo.short import in_short
from glasswarden.demo.story import INCIDENT


@dataclass(frozen=True, slots=True)
class Question:
    """A command of ours."""

    words: tuple[str, ...]
    into: str = ""
    """The file that its answer is written to by the shell."""
    shown: Callable[[str], list[str]] | None = None
    """What of the answer is shown."""
    more: tuple[str, ...] = ()
    """Other files that the same is written to, each in its own format."""

    def __str__(self) -> str:
        return shlex.join(self.words) + (f" > {self.into}" if self.into else "")


_PLACE: Final = ("-n", "shop")
_LIVE: Final = ("--live", "live")
_SEEN: Final = (*_LIVE, "--audit-log", "audit.log")
_DEPLOYED: Final = ("--path", "deploy")
_THEN: Final = ("--git", f"git@{INCIDENT}", *_DEPLOYED)
"""What Git declared during the incident."""

_PATCH: Final = ("backport", "--ticket", "INC-42", "--repo", f"git@{INCIDENT}", *_DEPLOYED)

QUESTIONS: Final = (
    Question(
        ("drift", *_THEN, *_PLACE, *_SEEN, "--format", "json"), into="drift.json", shown=in_short
    ),
    Question(
        ("blame", "deploy/web", *_PLACE, *_SEEN, "--field", "/spec/replicas"),
        shown=str.splitlines,
    ),
    Question(
        ("history", "deploy/web", *_PLACE, *_SEEN, "--field", "/spec/replicas"),
        shown=str.splitlines,
    ),
    Question(
        ("report", *_PLACE, *_THEN, *_SEEN, "--verify", "-o", "report.html"),
        more=("report.md", "report.json", "report.csv"),
    ),
    Question((*_PATCH, *_LIVE, "-o", "backport.patch")),
    Question(
        ("review", "--since", "7d", *_PLACE, *_THEN, *_SEEN, "-o", "review.html"),
        more=("review.md",),
    ),
)

MENDED: Final = (
    "Git takes the patch, leaves the API's replicas to its autoscaler, and has the half-merged\n"
    "file whole. Flux follows, and puts the payments back as they were:"
)
"""What was done about it, before the last question."""

LAST: Final = Question(
    ("drift", "--git", "git", *_DEPLOYED, *_PLACE, "--live", "mended", "--audit-log", "audit.log"),
    shown=str.splitlines,
)
"""Asked when Git has the patch and Flux has followed; the ledger and the log remember all of it."""
