"""Keys as files of a folder, such as a mounted Secret: `grant-20261116T190000Z.key`.

The name states the purpose of the key and from when on it signs; the content is the secret in
base64. Removing a file revokes its key.
"""

import base64
import binascii
import itertools
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from glasswarden.keys.ring import Key, Ring

SECRET_BYTES: Final = 32
"""As long as the HMAC itself."""

SETTLING: Final = timedelta(minutes=5)
"""How long kubelet may take until every pod has a changed Secret, with a margin."""

_TIME: Final = "%Y%m%dT%H%M%SZ"
_SUFFIX: Final = ".key"


class KeysUnreadable(Exception):
    """A key cannot be read, or is invalid; correct or remove the file."""


def read_ring(folder: Path, prefix: str) -> Ring:
    """Return the keys for *prefix* in *folder*, or raise `KeysUnreadable`."""
    return Ring(_read(path, prefix) for path in find_key_files(folder, prefix))


def find_key_files(folder: Path, prefix: str) -> list[Path]:
    """Return the files of the keys for *prefix*, the oldest first."""
    return sorted(folder.glob(f"{prefix}-*{_SUFFIX}"))


def new_key(folder: Path, prefix: str, active_from: datetime) -> Key:
    """Make a key that signs from *active_from* on; raise `FileExistsError` if there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    key_id = active_from.astimezone(UTC).strftime(_TIME)
    secret = os.urandom(SECRET_BYTES)
    path = folder / f"{prefix}-{key_id}{_SUFFIX}"
    # Under its name only when it is complete: another process may be watching the folder.
    temporary = folder / f".{path.name}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(secret) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    finally:
        temporary.unlink()
    return Key(key_id, secret, _active_from_of(key_id, path))


def rotate_keys(folder: Path, prefix: str, now: datetime, keep: timedelta) -> Key:
    """Make the next key, and remove those that have signed nothing for longer than *keep*.

    *keep* is at least as long as the longest lifetime of what they signed. The first key signs at
    once: no replica can lack it yet.
    """
    files = find_key_files(folder, prefix)
    key = new_key(folder, prefix, now + SETTLING if files else now)
    # Each key signs until the next one is active.
    for path, successor in itertools.pairwise(files):
        if _active_from_of(_id_of(successor, prefix), successor) + keep < now:
            path.unlink()
    return key


def _read(path: Path, prefix: str) -> Key:
    key_id = _id_of(path, prefix)
    active_from = _active_from_of(key_id, path)
    try:
        secret = base64.b64decode(path.read_bytes().strip(), validate=True)
    except (OSError, binascii.Error) as error:
        raise KeysUnreadable(f"{path}: {error}") from error
    if len(secret) < SECRET_BYTES:
        raise KeysUnreadable(f"{path}: a key has {SECRET_BYTES} bytes, not {len(secret)}")
    return Key(key_id, secret, active_from)


def _id_of(path: Path, prefix: str) -> str:
    return path.name.removeprefix(f"{prefix}-").removesuffix(_SUFFIX)


def _active_from_of(key_id: str, path: Path) -> datetime:
    try:
        return datetime.strptime(key_id, _TIME).replace(tzinfo=UTC)
    except ValueError as error:
        raise KeysUnreadable(f"{path}: its name holds no time such as 20261116T190000Z") from error
