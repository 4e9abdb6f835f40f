"""What lies where in the demo's folder."""

from dataclasses import dataclass
from pathlib import Path

from glasswarden.ledger.address import keys_beside


@dataclass(frozen=True, slots=True)
class Layout:
    """The folder, by what is in it."""

    folder: Path

    @property
    def webhook(self) -> Path:
        """What belongs to the webhook alone: its certificates, its log and the following."""
        return self.folder / "webhook"

    @property
    def keys(self) -> Path:
        """The keys that sign the ledger and the grants."""
        return keys_beside(self.ledger)

    @property
    def spool(self) -> Path:
        """Where records would wait for the ledger."""
        return self.webhook / "spool"

    @property
    def clock(self) -> Path:
        """The moment that is being told."""
        return self.webhook / "clock"

    @property
    def kubeconfig(self) -> Path:
        """How the webhook reaches the recorded cluster."""
        return self.webhook / "kubeconfig"

    @property
    def policy(self) -> Path:
        """The rules that it goes by."""
        return self.folder / "policy.yaml"

    @property
    def ledger(self) -> str:
        """The ledger's address."""
        return f"sqlite://{self.folder.resolve()}/ledger.db"

    @property
    def live(self) -> Path:
        """The application's objects at the end of the story."""
        return self.folder / "live"

    @property
    def mended(self) -> Path:
        """The application's objects when Git had taken over what was to stay."""
        return self.folder / "mended"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log."""
        return self.folder / "audit.log"

    @property
    def repository(self) -> Path:
        """A clone of the application's Git repository."""
        return self.folder / "git"
