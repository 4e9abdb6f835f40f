"""`glasswarden ledger export` and `import`: the ledger as lines of JSON.

A record that cannot be transferred is reported at once, and counted for the exit code.
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import IO

import click

from glasswarden.cli.evidence import count_text, existing, ledger_option, open_ledger_at, sentences
from glasswarden.cli.ledger.fsck import Progress
from glasswarden.cli.options import FILE, MOMENT
from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.transfer import export_lines, import_lines
from glasswarden.terminal import escape_unprintable


class LeftOut:
    """Reports and counts what was left out."""

    def __init__(self, how: str) -> None:
        self.count = 0
        self._how = how

    def __call__(self, error: LedgerError) -> None:
        """Report what was left out, and why."""
        self.count += 1
        click.echo(f"{self._how}: {escape_unprintable(str(error))}", err=True)


@click.command("export")
@ledger_option
@click.option("--since", type=MOMENT, help="Only what is newer: 2d, or a date.")
@click.option("--until", type=MOMENT, help="Only what is older: 2d, or a date.")
@click.option(
    "--ticket", "tickets", multiple=True, help="Only the records of this ticket. Repeatable."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="The file to write; default: standard output.",
)
@click.pass_context
def export(
    ctx: click.Context,
    address: str,
    since: datetime | None,
    until: datetime | None,
    tickets: tuple[str, ...],
    output: Path | None,
) -> None:
    """Write the records as lines of JSON, oldest first.

    The same ledger gives the same bytes. A part of one (by time, by ticket) can be read and its
    records verified one by one; only all of it is a ledger again. What is stored and no line could
    give back is left out and reported: the exit code is 1.
    """
    progress, left_out = Progress(is_shown=output is not None), LeftOut("not exported")
    stream: AbstractContextManager[IO[bytes]] = nullcontext(sys.stdout.buffer)
    if output is not None:
        stream = output.open("wb")
    with sentences(), existing(address) as ledger, stream as lines:
        found = export_lines(ledger, since, until, tickets, left_out)
        for count, line in enumerate(found, start=1):
            lines.write(line)
            progress.show(count, "records")
        lines.flush()
    progress.clear()
    ctx.exit(1 if left_out.count else 0)


@click.command("import")
@ledger_option
@click.option(
    "--keep-going",
    is_flag=True,
    help="List rejected lines and continue: for a file from a broken disk.",
)
@click.argument("file", type=FILE)
@click.pass_context
def import_records(
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
        with (
            click.open_file(str(file), "rb") as lines,
            open_ledger_at(address, to_fill=True) as ledger,
        ):
            for count in import_lines(ledger, lines, **reject):
                progress.show(count, "records")
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    progress.clear()
    click.echo(f"{count_text(count - left_out.count, 'record')} read and stored")
    if left_out.count:
        click.echo(f"{count_text(left_out.count, 'line')} rejected", err=True)
    ctx.exit(1 if left_out.count else 0)
