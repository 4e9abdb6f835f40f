"""The annotations of break-glass, and the label of a Namespace that has a grant."""

from typing import Final

PREFIX: Final = "breakglass.glasswarden.io/"

REASON: Final = f"{PREFIX}reason"
TICKET: Final = f"{PREFIX}ticket"
TTL: Final = f"{PREFIX}ttl"
APPROVE: Final = f"{PREFIX}approve"
OUTCOME: Final = f"{PREFIX}outcome"

GRANT: Final = f"{PREFIX}grant"
APPROVAL: Final = f"{PREFIX}approval"
REQUEST: Final = f"{PREFIX}request"

ASKED: Final = (REASON, TICKET, TTL)
"""What a person asks with; a change of one of them is a question."""

HOOKS_OWN: Final = (GRANT, APPROVAL, REQUEST)
"""What the webhook alone writes."""

ANNOTATIONS: Final = frozenset({*ASKED, APPROVE, OUTCOME, *HOOKS_OWN})

PENDING: Final = "pending"

ACTIVE: Final = f"{PREFIX}active"
"""The label: it lets a webhook entry select the few namespaces that matter."""
