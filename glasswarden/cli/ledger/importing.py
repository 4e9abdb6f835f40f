"""`glasswarden ledger import`: lines of JSON into a ledger."""

from pathlib import Path

import click

from glasswarden.cli.inputs import FILE
from glasswarden.cli.ledger.options import ledger_option, opened
from glasswarden.cli.ledger.progress import Progress
from glasswarden.cli.ledger.words import counted
from glasswarden.ledger.transfer import imported


@click.command("import")
@ledger_option
@click.argument("file", type=FILE)
def command(address: str, file: Path) -> None:
    """Store the records in FILE, which `ledger export` wrote; - is the standard input.

    Each line is verified before it is stored. What is there already is passed over, so that an
    import that was interrupted is simply repeated.
    """
    progress, count = Progress(), 0
    try:
        with click.open_file(str(file), "rb") as lines, opened(address, create=True) as ledger:
            for count in imported(ledger, lines):
                progress.tell(count, "records")
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    progress.clear()
    click.echo(f"{counted(count, 'record')} read and stored")
