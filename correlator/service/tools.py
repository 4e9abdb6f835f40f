"""What passes and duties work with. Everything belongs to the thread of the passes."""

from collections.abc import Callable
from dataclasses import dataclass

from correlator.service.settings import Settings
from glasswarden.cluster.apiserver import ApiServer
from glasswarden.cluster.objects import Objects
from glasswarden.ledger.history.episode import History
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.masking import Masks
from glasswarden.policy.policy import Policy


class PolicyUnusable(Exception):
    """The policy file cannot be read now; the rules from before go on serving."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The world, as far as the correlator touches it."""

    settings: Settings
    server: ApiServer
    """Reads; safe to use from several threads."""
    objects: Objects
    """Reads and writes."""
    ledger: Ledger
    history: History
    read_policy: Callable[[], Policy]
    """Returns the rules as the file has them now; raises `PolicyUnusable`."""
    masks: Masks | None = None
    """What hidden values are compared with; none where there are no keys."""
