"""What a ledger can be asked, and which columns answer it.

Both databases index the same things about a record, each in its own way.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final, NamedTuple

from glasswarden.ledger.record import AnyEntry, Attempt, Foreign

LONGEST: Final = 800
"""Bytes of a text that can be searched for: three of them fit into an index entry anywhere."""

_SURELY_SHORT: Final = LONGEST // 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which records are wanted, newest first; what is left out does not matter."""

    cluster: str | None = None
    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    """With `kind` and `namespace`: one object. An empty text counts: the core group."""

    field: str | None = None
    """A field's path, or what stands above it: `/spec/template` finds changes below it too."""

    actor: str | None = None
    ticket: str | None = None
    engine: str | None = None
    app: str | None = None
    app_namespace: str | None = None
    grant: str | None = None
    granted: bool = False
    """Only what asked for, used or ended a grant."""

    verdict: str | None = None
    since: datetime | None = None
    """The earliest time, included."""

    until: datetime | None = None
    """The latest time, not included."""

    before: str | None = None
    """The last id of the page before: only what is older is wanted."""

    limit: int = 100

    @property
    def columns(self) -> dict[str, str]:
        """What columns must hold, by their names."""
        asked = {name: getattr(self, name) for name in _EQUAL}
        return {name: searchable(text) for name, text in asked.items() if text is not None}

    def wants(self, entry: AnyEntry) -> bool:
        """Tell whether *entry* is an answer, on whatever page."""
        if not isinstance(entry, Attempt):
            return False
        columns = indexed(entry)
        return (
            all(getattr(columns, name) == text for name, text in self.columns.items())
            and (not self.granted or entry.grant != "")
            and (self.since is None or entry.time >= self.since)
            and (self.until is None or entry.time < self.until)
            and (
                self.field is None or any(is_within(path, self.field) for path in fields_of(entry))
            )
        )


_EQUAL: Final = (
    "cluster",
    "group",
    "kind",
    "namespace",
    "name",
    "actor",
    "ticket",
    "engine",
    "app",
    "app_namespace",
    "grant",
    "verdict",
)


class Indexed(NamedTuple):
    """What is known about a record beside its bytes, so that questions need not read those."""

    id: str
    time: datetime
    writer: str
    sequence: int
    type: str
    cluster: str
    verdict: str = ""
    actor: str = ""
    group: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    engine: str = ""
    app: str = ""
    app_namespace: str = ""
    ticket: str = ""
    grant: str = ""
    grant_act: str = ""
    grant_expires: datetime | None = None


def indexed(entry: AnyEntry) -> Indexed:
    """Return the columns of *entry*; what is no attempt has little to be found by."""
    if isinstance(entry, Attempt):
        return Indexed._make((entry.id, entry.time, *plain_columns(entry), entry.grant_expires))
    tag = entry.type if isinstance(entry, Foreign) else str(entry.__struct_config__.tag)
    cluster = searchable(entry.cluster)
    return Indexed(entry.id, entry.time, entry.writer, entry.sequence, searchable(tag), cluster)


def plain_columns(attempt: Attempt) -> tuple[str | int, ...]:
    """Return the columns of *attempt* without its id and the moments, in their order.

    Those every database keeps in its own way, these as they are.
    """
    return (attempt.writer, attempt.sequence, "attempt", *_searchable(_texts_of(attempt)))


# In one step, since every record that is stored or verified goes through here.
_texts_of: Final = attrgetter(*Indexed._fields[Indexed._fields.index("cluster") : -1])


def _searchable(texts: Sequence[str]) -> Sequence[str]:
    whole = "".join(texts)
    if len(whole) <= _SURELY_SHORT and "\0" not in whole:
        return texts
    return [searchable(text) for text in texts]


def fields_of(entry: AnyEntry) -> tuple[str, ...]:
    """Return the paths that *entry* can be found by: those that it changed, each once, sorted."""
    if not isinstance(entry, Attempt):
        return ()
    return tuple(sorted({*_searchable([change.path for change in entry.changes])}))


def searchable(text: str) -> str:
    """Return *text* as it is indexed and asked for; a record's body has it unchanged.

    PostgreSQL's text cannot hold U+0000, and no index takes a text of any length: of one that is
    too long the beginning stays, with a digest that keeps it apart from others that begin alike.
    """
    if len(text) <= _SURELY_SHORT and "\0" not in text:
        return text
    encoded = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode()
    if len(encoded) <= LONGEST:
        return encoded.decode()
    digest = hashlib.sha256(encoded).hexdigest()
    return f"{encoded[: LONGEST - len(digest)].decode(errors='ignore')}{digest}"


def is_within(path: str, field: str) -> bool:
    """Tell whether *path* is *field* or stands below it."""
    return path == (asked := searchable(field)) or path.startswith(starts_below(asked))


def starts_below(path: str) -> tuple[str, ...]:
    """Return how the paths below *path* begin: its fields', and its items'."""
    return ("/",) if path == "/" else (f"{path}/", f"{path}[")
