"""`glasswarden ledger`: the group of its commands."""

from typing import Final

import click

from glasswarden.cli.main import LazyGroup

COMMANDS: Final = {
    "export": "glasswarden.cli.ledger.transfer:export",
    "fsck": "glasswarden.cli.ledger.fsck",
    "hold": "glasswarden.cli.ledger.maintenance:hold_command",
    "import": "glasswarden.cli.ledger.transfer:import_records",
    "key": "glasswarden.cli.ledger.maintenance:key_command",
    "log": "glasswarden.cli.ledger.log",
    "migrate": "glasswarden.cli.ledger.maintenance:migrate_command",
    "prune": "glasswarden.cli.ledger.maintenance:prune_command",
}
"""Each command by the module that defines it as `command`."""


@click.command("ledger", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Read, verify and maintain the ledger."""
