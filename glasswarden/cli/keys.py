"""`glasswarden keys`: makes and renews the secrets of the webhook."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from glasswarden.duration import DurationError, parse_positive_duration
from glasswarden.keys.folder import KeysUnreadable, rotate_keys
from glasswarden.ledger.errors import KeyUnusable
from webhook.reloading import make_key_folder


def _length(_context: click.Context, _parameter: click.Parameter, text: str) -> timedelta:
    try:
        return parse_positive_duration(text)
    except DurationError as error:
        raise click.BadParameter(str(error)) from error


_FOLDER = click.option(
    "--dir",
    "folder",
    required=True,
    envvar="GLASSWARDEN_KEYS",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that the webhook is given with --keys.",
)


@click.group("keys")
def command() -> None:
    """Make the keys that the webhook needs, and renew those that grants are signed with."""


@command.command("make")
@_FOLDER
def make_command(folder: Path) -> None:
    """Make the keys that are missing in a folder; those that are there stay.

    They sign the ledger's checkpoints, mask its secret values, and sign grants. An SQLite ledger
    has its own made by itself; replicas that share a ledger share this folder, as a Secret.
    """
    try:
        make_key_folder(folder, datetime.now(UTC))
    except (OSError, KeysUnreadable, KeyUnusable) as error:
        raise click.ClickException(f"no key was made: {error}") from error
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    click.echo("\n".join([f"{folder} holds:", *(f"  {name}" for name in names)]))


@command.command("rotate")
@_FOLDER
@click.option(
    "--keep",
    default="1d",
    show_default=True,
    callback=_length,
    help="How long a key that signs no more still counts: the longest ttl of the rules, at least.",
)
def rotate_command(folder: Path, keep: timedelta) -> None:
    """Make the next key, and remove those that nothing valid can be signed with.

    The first key signs at once, each later one after five minutes: by then every replica has it. To
    revoke a key, and every grant that it signed, remove its file.
    """
    try:
        key = rotate_keys(folder, "grant", datetime.now(UTC), keep)
    except (OSError, KeysUnreadable) as error:
        raise click.ClickException(f"no key was made: {error}") from error
    click.echo(f"grant-{key.id}.key signs from {key.active_from:%Y-%m-%d %H:%M:%S} UTC on")
