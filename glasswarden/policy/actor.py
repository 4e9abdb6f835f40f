"""Who writes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """Who the API server says is writing. Under impersonation: the person being posed as."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: frozenset[str] = frozenset()
    """What else the authenticator says of them; some proxies name the person behind them here."""

    def may_be(self, name: str, uid: str = "") -> bool:
        """Tell whether this may be the person called *name*, as far as the request shows it."""
        return self.name == name or name in self.extra or (uid != "" and uid == self.uid)
