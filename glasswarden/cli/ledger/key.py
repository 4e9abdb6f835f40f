"""`glasswarden ledger key`: the key that others verify with."""

from pathlib import Path

import click

from glasswarden.cli.ledger.options import keys_folder, keys_option, ledger_option, sentences
from glasswarden.ledger.signing import open_signer


@click.command("key")
@ledger_option
@keys_option
def command(address: str, keys: Path | None) -> None:
    """Print the public key that checkpoints are signed with: Ed25519, raw, base64.

    Publish it where whoever can write to the ledger cannot; fsck takes it with --public-key.
    """
    with sentences():
        click.echo(open_signer(keys_folder(keys, address)).public_key)
