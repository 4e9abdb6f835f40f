"""`glasswarden ledger migrate`: the tables of this version."""

import click

from glasswarden.cli.ledger.options import ledger_option, sentences
from glasswarden.ledger.address import migrate_ledger


@click.command("migrate")
@ledger_option
def command(address: str) -> None:
    """Make the ledger's tables, or bring them to this program's version.

    All or nothing, and safe to repeat; of two that run at once one waits. In PostgreSQL it also
    makes the partitions of this month and the next three.
    """
    with sentences():
        done = migrate_ledger(address)
    for sentence in done or ["nothing to do"]:
        click.echo(sentence)
