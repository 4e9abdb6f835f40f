"""What a ledger can be asked, and which columns answer it.

Both databases index the same things about a record, each in its own way.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from glasswarden.ledger.record import AnyEntry, Attempt, Foreign


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
    verdict: str | None = None
    since: datetime | None = None
    """The earliest time, included."""

    until: datetime | None = None
    """The latest time, not included."""

    before: str | None = None
    """The last id of the page before: only what is older is wanted."""

    limit: int = 100


class Indexed(NamedTuple):
    """What is known about a record beside its bytes, so that questions need not read those."""

    id: str
    time: datetime
    cluster: str
    writer: str
    sequence: int
    type: str
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
    tag = entry.type if isinstance(entry, Foreign) else str(entry.__struct_config__.tag)
    place = (entry.id, entry.time, entry.cluster, entry.writer, entry.sequence, tag)
    if not isinstance(entry, Attempt):
        return Indexed(*place)
    return Indexed(
        *place,
        entry.verdict,
        entry.actor,
        entry.group,
        entry.kind,
        entry.namespace,
        entry.name,
        entry.engine,
        entry.app,
        entry.app_namespace,
        entry.ticket,
        entry.grant,
        entry.grant_act,
        entry.grant_expires,
    )


def fields_of(entry: AnyEntry) -> tuple[str, ...]:
    """Return the paths that *entry* changed, each once."""
    if not isinstance(entry, Attempt):
        return ()
    return tuple(dict.fromkeys(change.path for change in entry.changes))
