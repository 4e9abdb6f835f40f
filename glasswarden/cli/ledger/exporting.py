"""`glasswarden ledger export`: the ledger as lines of JSON."""

import sys
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import IO

import click

from glasswarden.cli.ledger.left_out import LeftOut
from glasswarden.cli.ledger.options import existing, ledger_option, sentences
from glasswarden.cli.ledger.progress import Progress
from glasswarden.cli.times import MOMENT
from glasswarden.ledger.transfer import exported


@click.command("export")
@ledger_option
@click.option("--since", type=MOMENT, help="Only what is younger: 2d, or a date.")
@click.option("--until", type=MOMENT, help="Only what is older: 2d, or a date.")
@click.option("--ticket", "tickets", multiple=True, help="Only what belongs to it. Repeatable.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="The file to write; else the standard output.",
)
@click.pass_context
def command(
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
    give back is left out, and said: the exit code is 1.
    """
    progress, left_out = Progress(is_shown=output is not None), LeftOut("not exported")
    stream: AbstractContextManager[IO[bytes]] = nullcontext(sys.stdout.buffer)
    if output is not None:
        stream = output.open("wb")
    with sentences(), existing(address) as ledger, stream as lines:
        found = exported(ledger, since, until, tickets, left_out)
        for count, line in enumerate(found, start=1):
            lines.write(line)
            progress.tell(count, "records")
        lines.flush()
    progress.clear()
    ctx.exit(1 if left_out.count else 0)
