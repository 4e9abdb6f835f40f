"""What commands are given: files, or the standard input; and how they end when it is no good."""

import json
from pathlib import Path
from typing import Any, Final

import click

from glasswarden.keys.folder import KeysUnreadable, read_ring
from glasswarden.keys.ring import Ring
from glasswarden.policy.policy import Policy
from webhook.policy_file import PolicyUnreadable, load_policy, parse_policy

FILE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)

STDIN: Final = Path("<stdin>")
"""What mistakes in the standard input are said to be in."""


def read_policy(file: Path) -> Policy:
    """Return the policy in *file*, or in the standard input for `-`; or end with its mistake."""
    try:
        return load_policy(file) if str(file) != "-" else _policy_from_input()
    except PolicyUnreadable as error:
        raise click.ClickException(str(error)) from error


def _policy_from_input() -> Policy:
    try:
        text = read_bytes(Path("-")).decode()
    except UnicodeDecodeError as error:
        raise PolicyUnreadable(f"{STDIN}: {error}") from error
    return parse_policy(STDIN, text)


def read_keys(folder: Path | None) -> Ring:
    """Return the keys of grants in *folder*, or end with what is wrong with one."""
    try:
        return Ring() if folder is None else read_ring(folder, "grant")
    except KeysUnreadable as error:
        raise click.ClickException(str(error)) from error


def read_bytes(file: Path) -> bytes:
    """Return the content of *file*, or of the standard input for `-`."""
    try:
        with click.open_file(str(file), "rb") as stream:
            content: bytes = stream.read()
            return content
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error


def read_object(file: Path) -> dict[str, Any]:
    """Return the Kubernetes object in *file*, which is JSON."""
    try:
        content = json.loads(read_bytes(file))
    except ValueError as error:
        raise click.ClickException(f"{file}: not JSON: {error}") from error
    if not isinstance(content, dict):
        raise click.ClickException(f"{file}: not a Kubernetes object")
    return content
