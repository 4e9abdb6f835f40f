"""The words that the policy file, a write and a grant share: modes, operations, actors."""

from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """From the strictest to the mildest; a denied write is recorded in all of them."""

    ENFORCE = "enforce"
    WARN = "warn"
    AUDIT = "audit"


class Operation(StrEnum):
    """What admission calls the act; a PATCH or an apply arrives as one of the first two."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class GrantOperation(StrEnum):
    """What a grant lets somebody do."""

    UPDATE = "update"
    SCALE = "scale"
    DELETE = "delete"
    CREATE = "create"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who the API server says is writing. Under impersonation: the person being posed as."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: frozenset[str] = frozenset()
    """What else the authenticator says of them; some proxies name the person behind them here."""

    def may_be(self, name: str, uid: str = "") -> bool:
        """Return whether this may be the person called *name*, as far as the request shows it."""
        return self.name == name or name in self.extra or (uid != "" and uid == self.uid)
