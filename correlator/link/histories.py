"""The histories of objects, read from a ledger only as far as somebody reads on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from glasswarden.kube.objects import Ref
from glasswarden.ledger.attempts import asked
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.question import Question
from glasswarden.ledger.record import Attempt

FIRST_PAGE: Final = 8
"""Records that are read at first: most drift is a recent write's."""

GROWTH: Final = 4


@dataclass(frozen=True, slots=True)
class Histories:
    """What was attempted on the objects of one cluster."""

    ledger: Ledger
    cluster: str

    def __call__(self, refs: Sequence[Ref]) -> list[Iterator[Attempt]]:
        """Return, for each of *refs*, what was attempted on objects of that name, newest first."""
        return [self._of(ref) for ref in refs]

    def _of(self, ref: Ref) -> Iterator[Attempt]:
        question = Question(
            cluster=self.cluster,
            group=ref.group,
            kind=ref.kind,
            namespace=ref.namespace,
            name=ref.name,
            limit=FIRST_PAGE,
        )
        return asked(self.ledger, question, GROWTH)
