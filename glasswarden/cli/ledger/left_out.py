"""What a command could not take along: said at once, and counted for the exit code."""

import click

from glasswarden.ledger.errors import LedgerError
from glasswarden.printable import printable


class LeftOut:
    """Whoever is told of each."""

    def __init__(self, how: str) -> None:
        self.count = 0
        self._how = how

    def __call__(self, error: LedgerError) -> None:
        """Say what was left out, and why."""
        self.count += 1
        click.echo(f"{self._how}: {printable(str(error))}", err=True)
