"""`glasswarden ledger`: look into what was recorded, and look after it."""

from typing import Final

import click

from glasswarden.cli.lazy import LazyGroup

COMMANDS: Final = {
    "export": "glasswarden.cli.ledger.exporting",
    "fsck": "glasswarden.cli.ledger.fsck",
    "hold": "glasswarden.cli.ledger.hold",
    "import": "glasswarden.cli.ledger.importing",
    "key": "glasswarden.cli.ledger.key",
    "log": "glasswarden.cli.ledger.log",
    "migrate": "glasswarden.cli.ledger.migrate",
    "prune": "glasswarden.cli.ledger.prune",
}
"""Each command by the module that defines it as `command`."""


@click.command("ledger", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Look into what was recorded, and look after it."""
