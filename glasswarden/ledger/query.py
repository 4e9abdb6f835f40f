"""Questions to a ledger, and the indexed columns that answer them.

Both databases index the same columns of a record, each in its own way.
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
    """A filter on records, answered newest first; an omitted field matches everything."""

    cluster: str | None = None
    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    """With `kind` and `namespace`: one object. An empty text counts: the core group."""

    field: str | None = None
    """A field's path, or a path above it: `/spec/template` finds changes below it too."""

    actor: str | None = None
    ticket: str | None = None
    engine: str | None = None
    app: str | None = None
    app_namespace: str | None = None
    grant: str | None = None
    granted: bool = False
    """Only attempts that requested, used or ended a grant."""

    verdict: str | None = None
    since: datetime | None = None
    """The earliest time, included."""

    until: datetime | None = None
    """The latest time, not included."""

    before: str | None = None
    """The last id of the previous page: only older records match."""

    limit: int = 100

    @property
    def columns(self) -> dict[str, str]:
        """What columns must hold, by their names."""
        asked = {name: getattr(self, name) for name in _EQUAL}
        return {name: searchable_form(text) for name, text in asked.items() if text is not None}

    def wants(self, entry: AnyEntry) -> bool:
        """Return whether *entry* matches, on any page."""
        if not isinstance(entry, Attempt):
            return False
        columns = columns_of(entry)
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


class IndexedColumns(NamedTuple):
    """The columns of a record that are indexed, so that questions need not read its bytes."""

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


def columns_of(entry: AnyEntry) -> IndexedColumns:
    """Return the columns of *entry*; an entry that is not an attempt has few."""
    if isinstance(entry, Attempt):
        return IndexedColumns._make(
            (entry.id, entry.time, *plain_columns_of(entry), entry.grant_expires)
        )
    tag = entry.type if isinstance(entry, Foreign) else str(entry.__struct_config__.tag)
    cluster = searchable_form(entry.cluster)
    return IndexedColumns(
        entry.id, entry.time, entry.writer, entry.sequence, searchable_form(tag), cluster
    )


def plain_columns_of(attempt: Attempt) -> tuple[str | int, ...]:
    """Return the columns of *attempt* without its id and times, in their order.

    Each database stores ids and times in its own way, the others as they are.
    """
    return (attempt.writer, attempt.sequence, "attempt", *_searchable_forms(_texts_of(attempt)))


# In one step, since every record that is stored or verified goes through here.
_texts_of: Final = attrgetter(*IndexedColumns._fields[IndexedColumns._fields.index("cluster") : -1])


def _searchable_forms(texts: Sequence[str]) -> Sequence[str]:
    whole = "".join(texts)
    if len(whole) <= _SURELY_SHORT and "\0" not in whole:
        return texts
    return [searchable_form(text) for text in texts]


def fields_of(entry: AnyEntry) -> tuple[str, ...]:
    """Return the indexed paths of *entry*: those that it changed, each once, sorted."""
    if not isinstance(entry, Attempt):
        return ()
    return tuple(sorted({*_searchable_forms([change.path for change in entry.changes])}))


def searchable_form(text: str) -> str:
    """Return *text* as it is indexed and searched for; a record's body has it unchanged.

    PostgreSQL's text cannot hold U+0000, and an index limits the length of a text: a longer one is
    cut, with a digest that distinguishes it from others with the same beginning.
    """
    if len(text) <= _SURELY_SHORT and "\0" not in text:
        return text
    encoded = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode()
    if len(encoded) <= LONGEST:
        return encoded.decode()
    digest = hashlib.sha256(encoded).hexdigest()
    return f"{encoded[: LONGEST - len(digest)].decode(errors='ignore')}{digest}"


def is_within(path: str, field: str) -> bool:
    """Return whether *path* is *field* or below it."""
    return path == (asked := searchable_form(field)) or path.startswith(prefixes_below(asked))


def prefixes_below(path: str) -> tuple[str, ...]:
    """Return the prefixes of the paths below *path*: of its fields, and of its items."""
    return ("/",) if path == "/" else (f"{path}/", f"{path}[")
