"""Fields as they are looked up: each path, and everything above it, as one number.

The numbers make a small index with few distinct keys; two paths may share one, so whoever finds a
record by it looks at the paths again.
"""

import re
from functools import lru_cache
from typing import Final
from zlib import crc32

_STEP: Final = re.compile(r"[/\[]")


def key_of(path: str) -> int:
    """Return the number of *path*: CRC-32, as a signed integer of four bytes."""
    return int.from_bytes(crc32(path.encode()).to_bytes(4), signed=True)


@lru_cache(maxsize=4096)
def keys_of(paths: tuple[str, ...]) -> list[int]:
    """Return the numbers of *paths* and of everything above them, each once."""
    above = {path[: step.start()] for path in paths for step in _STEP.finditer(path)}
    return sorted({key_of(path) for path in above.union(paths)})


@lru_cache(maxsize=4096)
def array_of(texts: tuple[str, ...]) -> str:
    """Return *texts* as PostgreSQL writes an array."""
    escaped = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in escaped) + "}"


@lru_cache(maxsize=4096)
def numbers_of(paths: tuple[str, ...]) -> str:
    """Return the numbers of *paths* as PostgreSQL writes an array."""
    return "{" + ",".join(map(str, keys_of(paths))) + "}"
