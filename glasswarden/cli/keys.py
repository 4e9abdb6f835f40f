"""`glasswarden keys`: the secrets that grants are signed with."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from glasswarden.keys.folder import KeysUnreadable, rotate
from glasswarden.policy.breakglass.duration import DurationError, parse_duration


def _length(_context: click.Context, _parameter: click.Parameter, text: str) -> timedelta:
    try:
        return parse_duration(text)
    except DurationError as error:
        raise click.BadParameter(str(error)) from error


@click.group("keys")
def command() -> None:
    """Make and renew the keys that grants are signed with."""


@command.command("rotate")
@click.option(
    "--dir",
    "folder",
    required=True,
    envvar="GLASSWARDEN_KEYS",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that the webhook is given with --keys.",
)
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
        key = rotate(folder, "grant", datetime.now(UTC), keep)
    except (OSError, KeysUnreadable) as error:
        raise click.ClickException(f"no key was made: {error}") from error
    click.echo(f"grant-{key.id}.key signs from {key.active_from:%Y-%m-%d %H:%M:%S} UTC on")
