"""Whoever looks after a ledger leaves a chain too: nothing is cut or held by nobody."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from glasswarden.ledger.chain import Chain
from glasswarden.ledger.checkpoints import closing, opening
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import FORMAT, AnyEntry, Held, Record, Tombstone, new_id
from glasswarden.ledger.signing import Signer

Act = TypeVar("Act", Tombstone, Held)


class Clerk:
    """The writer of one command's acts. Its chain begins with the first of them."""

    def __init__(self, ledger: Ledger, writer: str, signer: Signer, now: datetime) -> None:
        self._ledger = ledger
        self._chain = Chain(writer, signer)
        self._signer = signer
        self._now = now

    def signed(self, kind: type[Act], **fields: Any) -> Record:  # noqa: ANN401 - those of *kind*
        """Return the record of an act, in its place, not stored yet."""
        if self._chain.head.sequence == 0:
            heads = self._ledger.unwitnessed()
            self.store(opening("", heads, self._signer, self._now, os.urandom(10)))
        act = kind(
            format=FORMAT,
            id=new_id(self._now, os.urandom(10)),
            time=self._now,
            cluster="",
            public_key=self._signer.public_key,
            **fields,
        )
        [record] = self._chain.link([act])
        return record

    def stored(self, record: Record) -> None:
        """Go on behind *record*, which was stored together with what it is about."""
        self._chain.advance([record])

    def store(self, entry: AnyEntry) -> None:
        """Store *entry* on its own."""
        records = self._chain.link([entry])
        self._ledger.append(records)
        self._chain.advance(records)

    def end(self) -> None:
        """End the chain, if it was begun."""
        if self._chain.head.sequence:
            self.store(closing("", self._signer, self._now, os.urandom(10)))


@contextmanager
def clerk_of(ledger: Ledger, writer: str, signer: Signer, now: datetime) -> Iterator[Clerk]:
    """Let a command act on *ledger*; a command that fails leaves its chain open, like a crash."""
    clerk = Clerk(ledger, writer, signer, now)
    yield clerk
    clerk.end()
