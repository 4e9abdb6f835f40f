"""`glasswarden ledger import`: lines of JSON into a ledger."""

from pathlib import Path

import click

from glasswarden.cli.inputs import FILE
from glasswarden.cli.ledger.left_out import LeftOut
from glasswarden.cli.ledger.options import ledger_option, opened
from glasswarden.cli.ledger.progress import Progress
from glasswarden.cli.ledger.words import counted
from glasswarden.ledger.transfer import imported


@click.command("import")
@ledger_option
@click.option(
    "--keep-going",
    is_flag=True,
    help="List the lines that are rejected, and go on behind them: for what a broken disk left.",
)
@click.argument("file", type=FILE)
@click.pass_context
def command(
    ctx: click.Context,
    address: str,
    keep_going: bool,  # noqa: FBT001 - click hands it over by name
    file: Path,
) -> None:
    """Store the records in FILE, which `ledger export` wrote; - is the standard input.

    Each line is verified before it is stored. What is there already is passed over, so that an
    import that was interrupted is simply repeated. Exit code 1: a line was rejected.
    """
    progress, left_out, count = Progress(), LeftOut("rejected"), 0
    reject = {"left_out": left_out} if keep_going else {}
    try:
        with click.open_file(str(file), "rb") as lines, opened(address, to_fill=True) as ledger:
            for count in imported(ledger, lines, **reject):
                progress.tell(count, "records")
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    progress.clear()
    click.echo(f"{counted(count - left_out.count, 'record')} read and stored")
    if left_out.count:
        click.echo(f"{counted(left_out.count, 'line')} rejected", err=True)
    ctx.exit(1 if left_out.count else 0)
