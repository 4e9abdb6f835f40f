"""What a verifier remembers between two runs: how far each chain was verified, and by whose key.

The file is the verifier's own. Whoever can write to the ledger should not be able to write to it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.fsck.chain import Place


class StateUnusable(LedgerError):
    """The state of the last run cannot be read or written; correct the path, or remove the file."""


@dataclass(frozen=True, slots=True)
class State:
    """Where the last run came to."""

    places: Mapping[str, Place] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    """Whose signatures there were: on the next run, those of others are not trusted."""


def read_state(file: Path) -> State:
    """Return what is in *file*; nothing where there is none yet."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=State)
    except FileNotFoundError:
        return State()
    except (OSError, msgspec.MsgspecError) as error:
        raise StateUnusable(f"{file}: {error}") from error


def write_state(file: Path, state: State) -> None:
    """Put *state* into *file*: all of it, or what was there before."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        draft.write_bytes(msgspec.json.encode(state, order="sorted") + b"\n")
        draft.replace(file)
    except OSError as error:
        raise StateUnusable(f"{file}: {error}") from error
