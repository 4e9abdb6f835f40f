"""Options that the ledger's commands share."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import click

from glasswarden.ledger.address import keys_beside, open_ledger
from glasswarden.ledger.clerk import Clerk, clerk_of
from glasswarden.ledger.errors import AddressInvalid, KeyUnusable, LedgerError
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.signing import open_signer

Function = TypeVar("Function", bound=Callable[..., object])


def ledger_option(function: Function) -> Function:
    """Let a command be told its ledger as `address`."""
    return click.option(
        "--ledger",
        "address",
        required=True,
        envvar="GLASSWARDEN_LEDGER",
        metavar="ADDRESS",
        help="The ledger: sqlite:///PATH or postgresql://USER@HOST/DATABASE.",
    )(function)


def optional_ledger_option(function: Function) -> Function:
    """Let a command that can do without be told a ledger as `ledger`."""
    return click.option(
        "--ledger",
        "ledger",
        envvar="GLASSWARDEN_LEDGER",
        metavar="ADDRESS",
        help="The ledger: sqlite:///PATH or postgresql://USER@HOST/DATABASE.",
    )(function)


def keys_option(function: Function) -> Function:
    """Let a command be told the folder of the ledger's keys as `keys`."""
    return click.option(
        "--keys",
        envvar="GLASSWARDEN_KEYS",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder with the ledger's keys; beside an SQLite ledger where it is not given.",
    )(function)


def public_key_option(function: Function) -> Function:
    """Let a command be told whose signatures count as `public_keys`."""
    return click.option(
        "--public-key",
        "public_keys",
        multiple=True,
        envvar="GLASSWARDEN_PUBLIC_KEY",
        metavar="KEY",
        help="A key that checkpoints may be signed with, as `ledger key` prints it. Repeatable.",
    )(function)


@contextmanager
def existing(address: str) -> Iterator[Ledger]:
    """Open the ledger at *address* if there is one: a mistyped path must not look like a new one.

    What it raises is a `LedgerError`, for the command to say.
    """
    with closing(open_ledger(address, create=False)) as ledger:
        yield ledger


@contextmanager
def acting(ledger: Ledger, address: str, keys: Path | None, now: datetime) -> Iterator[Clerk]:
    """Let a command leave signed records of what it does with *ledger*."""
    writer = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
    with clerk_of(ledger, writer, open_signer(keys_folder(keys, address)), now) as clerk:
        yield clerk


@contextmanager
def opened(address: str, *, to_fill: bool = False) -> Iterator[Ledger]:
    """Open the ledger at *address*; what is wrong with it is said in a sentence.

    One that is *to_fill*, with very many records, is made where there is none.
    """
    with sentences(), closing(open_ledger(address, create=to_fill, in_bulk=to_fill)) as ledger:
        yield ledger


def keys_folder(keys: Path | None, address: str) -> Path:
    """Return where the keys of the ledger at *address* are."""
    with sentences():
        return keys or keys_beside(address)


def own_key(keys: Path | None, address: str) -> frozenset[str]:
    """Return the public key in the folder *keys*, or beside the ledger; nothing if none is there.

    A folder that was named must have one.
    """
    if keys is not None:
        return frozenset({open_signer(keys).public_key})
    try:
        return frozenset({open_signer(keys_beside(address)).public_key})
    except (AddressInvalid, KeyUnusable):
        return frozenset()


@contextmanager
def sentences() -> Iterator[None]:
    """Turn what a ledger raises into a message for a person."""
    try:
        yield
    except LedgerError as error:
        raise click.ClickException(str(error)) from error
