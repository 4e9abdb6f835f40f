"""Messages as JSON and as Slack payloads. Pure."""

from collections import Counter
from typing import Any, Final

from correlator.notify.events import Event
from correlator.notify.routing import Message

LONGEST: Final = 300
"""Characters of a text that somebody chose: a reason, a name."""

_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_MARKUP: Final = str.maketrans(dict.fromkeys("*_~`", "\u200b"))
"""What Slack would make bold or code of, were it to stand in a name."""


def render_json(message: Message) -> dict[str, Any]:
    """Return *message* for programs; docs/notifications.md has its fields."""
    return {
        "version": 1,
        "about": message.about,
        "counts": dict(Counter(event.kind.value for event in message.events)),
        "events": [_event_fields_of(event) for event in message.events],
        "more": message.more,
    }


def _event_fields_of(event: Event) -> dict[str, str]:
    return {
        "id": event.id,
        "kind": event.kind.value,
        "time": event.time.isoformat(),
        "subject": event.subject,
        "says": event.says,
        "cluster": event.cluster,
        "namespace": event.namespace,
        "engine": event.engine,
        "application": event.application,
        "team": event.team,
        "ticket": event.ticket,
        "actor": event.actor,
    }


def render_slack(message: Message) -> dict[str, Any]:
    """Return *message* for people, in the form of an incoming webhook of Slack."""
    count = len(message.events) + message.more
    head = f"*{escape_slack(message.about)}*: {count} {'event' if count == 1 else 'events'}"
    lines = [_render_line(event) for event in message.events]
    if message.more:
        lines.append(f"… and {message.more} more")
    return {"text": "\n".join([head, *lines]), "unfurl_links": False, "unfurl_media": False}


def _render_line(event: Event) -> str:
    words = f"• {event.time:%H:%M} UTC `{event.kind}` {escape_slack(event.subject)}"
    words += f": {escape_slack(event.says)}"
    if event.actor:
        words += f" ({escape_slack(event.actor)})"
    return words + (f" [{escape_slack(event.ticket)}]" if event.ticket else "")


def escape_slack(text: str) -> str:
    """Return *text* so that it is shown as it is: no mention, no link, no line of its own."""
    line = " ".join(text.split())
    short = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
    printable = "".join(char for char in short if char.isprintable())
    return printable.translate(_ESCAPES).translate(_MARKUP)
