"""A batch of events as the API server posts it, made ready to be kept."""

from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import Raw

from glasswarden.audit.event import Event, NotAnEvent, parse_event


class Received(NamedTuple):
    """One event of a batch."""

    event: Event
    line: bytes
    """As it came, on one line."""

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same event when it is sent again."""
        return self.event.audit_id, self.event.stage


class _List(msgspec.Struct):
    kind: Literal["EventList"]
    items: list[Raw] = []


_decoder: Final = msgspec.json.Decoder(_List)


def parse_batch(body: bytes) -> list[Received]:
    """Return the events of *body*, an EventList, or raise `NotAnEvent`."""
    try:
        items = _decoder.decode(body).items
    except msgspec.MsgspecError as error:
        raise NotAnEvent(f"no EventList: {error}") from error
    return [Received(parse_event(item), _on_one_line(item)) for item in items]


def _on_one_line(item: Raw) -> bytes:
    text = bytes(item)
    return (msgspec.json.format(text, indent=-1) if b"\n" in text else text) + b"\n"
