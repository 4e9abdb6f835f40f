"""`glasswarden ledger prune`, `hold`, `migrate` and `key`: maintenance of a ledger."""

import getpass
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from glasswarden.cli.evidence import (
    Function,
    acting,
    count_text,
    existing,
    keys_folder,
    keys_option,
    ledger_option,
    own_key,
    public_key_option,
    sentences,
)
from glasswarden.cli.options import DURATION
from glasswarden.ledger.chain import open_signer
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import LegalHold
from glasswarden.ledger.open import migrate_ledger
from glasswarden.ledger.retention import Pruning, place_hold, prune, release_hold
from glasswarden.terminal import escape_unprintable


@click.command("prune")
@ledger_option
@keys_option
@public_key_option
@click.option("--older-than", type=DURATION, required=True, help="Remove what is older: 400d.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, without removing it.")
@click.pass_context
def prune_command(
    ctx: click.Context,
    address: str,
    keys: Path | None,
    public_keys: tuple[str, ...],
    older_than: timedelta,
    dry_run: bool,  # noqa: FBT001 - click hands it over by name
) -> None:
    """Remove the old beginnings of chains; a signed tombstone keeps the rest verifiable.

    What belongs to a ticket under legal hold stays. A chain that does not verify, by --public-key
    or by the ledger's own key, is left alone, and the exit code is 1.
    """
    now = datetime.now(UTC)
    pruned = rejected = 0
    with sentences(), existing(address) as ledger, ExitStack() as stack:
        # What others signed is not ours to prune, unless somebody asks for it.
        trust = Trust(frozenset(public_keys) or own_key(keys, address) or None)
        maintenance = None if dry_run else stack.enter_context(acting(ledger, address, keys, now))
        for each in prune(ledger, now - older_than, trust, maintenance):
            if isinstance(each, Pruning):
                pruned += each.count
                click.echo(render_pruning(each, is_done=not dry_run))
            else:
                rejected += 1
                click.echo(f"not pruned: {each}", err=True)
    click.echo(f"{count_text(pruned, 'record')} {'would be removed' if dry_run else 'pruned'}")
    ctx.exit(1 if rejected else 0)


def render_pruning(pruning: Pruning, *, is_done: bool) -> str:
    """Return a line about one chain."""
    kept = f", {len(pruning.kept):,} kept" if pruning.kept else ""
    cut = "cut" if is_done else "would be cut"
    what = f"{count_text(pruning.count, 'record')} through {pruning.through:,}"
    return f"{pruning.chain}: {what} {cut}{kept}"


@click.group("hold")
def hold_command() -> None:
    """Keep the records of a ticket, however old; each change leaves a signed record."""


def add_who_and_why(function: Function) -> Function:
    """Add the options for who acts, and why."""
    by = click.option("--by", default=getpass.getuser, help="Who decided it; default: you.")
    why = click.option("--why", required=True, help="The reason, which is recorded.")
    return by(why(function))


@hold_command.command("add")
@click.argument("ticket")
@add_who_and_why
@ledger_option
@keys_option
def add(ticket: str, by: str, why: str, address: str, keys: Path | None) -> None:
    """Place a legal hold on TICKET."""
    now = datetime.now(UTC)
    with (
        sentences(),
        existing(address) as ledger,
        acting(ledger, address, keys, now) as maintenance,
    ):
        is_new = place_hold(ledger, LegalHold(ticket, now, by, why), maintenance)
    click.echo(f"{ticket} is held" if is_new else f"{ticket} is already held")


@hold_command.command("remove")
@click.argument("ticket")
@add_who_and_why
@ledger_option
@keys_option
def remove(ticket: str, by: str, why: str, address: str, keys: Path | None) -> None:
    """Release the legal hold on TICKET."""
    now = datetime.now(UTC)
    with (
        sentences(),
        existing(address) as ledger,
        acting(ledger, address, keys, now) as maintenance,
    ):
        was_held = release_hold(ledger, ticket, by, why, maintenance)
    if not was_held:
        raise click.ClickException(f"{ticket} is not held")
    click.echo(f"{ticket} is no longer held")


@hold_command.command("list")
@ledger_option
def list_command(address: str) -> None:
    """List the legal holds in force, oldest first."""
    with sentences(), existing(address) as ledger:
        for hold in ledger.holds():
            cells = (hold.ticket, hold.since.isoformat(), hold.by, hold.why)
            click.echo("\t".join(map(escape_unprintable, cells)))


@click.command("migrate")
@ledger_option
def migrate_command(address: str) -> None:
    """Create the ledger's tables, or migrate them to this program's version.

    All or nothing, and safe to repeat; of two that run at once one waits. In PostgreSQL it also
    makes the partitions of this month and the next three.
    """
    with sentences():
        done = migrate_ledger(address)
    for sentence in done or ["nothing to do"]:
        click.echo(sentence)


@click.command("key")
@ledger_option
@keys_option
def key_command(address: str, keys: Path | None) -> None:
    """Print the public key that checkpoints are signed with: Ed25519, raw, base64.

    Publish it where whoever can write to the ledger cannot; fsck takes it with --public-key.
    """
    with sentences():
        click.echo(open_signer(keys_folder(keys, address)).public_key)
