"""`glasswarden ledger prune`: let go of what is old."""

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from glasswarden.cli.ledger.options import (
    acting,
    existing,
    keys_option,
    ledger_option,
    own_key,
    public_key_option,
    sentences,
)
from glasswarden.cli.ledger.words import counted
from glasswarden.cli.times import DURATION
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.prune import Pruning, prune


@click.command("prune")
@ledger_option
@keys_option
@public_key_option
@click.option("--older-than", type=DURATION, required=True, help="What is older goes: 400d.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and leave it.")
@click.pass_context
def command(
    ctx: click.Context,
    address: str,
    keys: Path | None,
    public_keys: tuple[str, ...],
    older_than: timedelta,
    dry_run: bool,  # noqa: FBT001 - click hands it over by name
) -> None:
    """Cut the old beginnings of chains; a signed tombstone keeps the rest verifiable.

    What belongs to a ticket under legal hold stays. A chain that does not verify, by --public-key
    or by the ledger's own key, is left alone, and the exit code is 1.
    """
    now = datetime.now(UTC)
    pruned = refused = 0
    with sentences(), existing(address) as ledger, ExitStack() as stack:
        # What others signed is not ours to bury, unless somebody says so.
        trust = Trust(frozenset(public_keys) or own_key(keys, address) or None)
        clerk = None if dry_run else stack.enter_context(acting(ledger, address, keys, now))
        for each in prune(ledger, now - older_than, trust, clerk):
            if isinstance(each, Pruning):
                pruned += each.count
                click.echo(told(each, is_done=not dry_run))
            else:
                refused += 1
                click.echo(f"left alone: {each}", err=True)
    click.echo(f"{counted(pruned, 'record')} {'would go' if dry_run else 'pruned'}")
    ctx.exit(1 if refused else 0)


def told(pruning: Pruning, *, is_done: bool) -> str:
    """Return a line about one chain."""
    kept = f", {len(pruning.kept):,} kept" if pruning.kept else ""
    cut = "cut" if is_done else "would be cut"
    what = f"{counted(pruning.count, 'record')} through {pruning.through:,}"
    return f"{pruning.chain}: {what} {cut}{kept}"
