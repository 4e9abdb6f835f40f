"""Kubernetes Events: what happened to an object, told where people look with kubectl.

They are for people and soon forgotten (an API server keeps them for an hour): nothing is ever
decided by one, and none holds a value of an object.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from glasswarden.kube.objects import Object, Ref

LONGEST_NOTE: Final = 1024
"""Bytes; the API server refuses an Event with more."""

LONGEST_NAME: Final = 253
LONGEST_INSTANCE: Final = 128

_ORPHANAGE: Final = "default"
"""Where Events about cluster-scoped objects live."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an object; equal ones make a series."""

    regarding: Ref
    reason: str
    """One word for programs, such as `WriteRefused`."""
    action: str
    """What was done, or would have been: one word too."""
    note: str
    """The sentence that people read."""
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Reporter:
    """Which program tells, and which of its processes."""

    controller: str
    instance: str


@dataclass(frozen=True, slots=True)
class Series:
    """How often the same has happened, and when last."""

    count: int
    last: datetime


def url_of(event: Event, name: str = "") -> str:
    """Return where Events about the object are, or the one called *name*."""
    root = f"/apis/events.k8s.io/v1/namespaces/{_namespace(event)}/events"
    return f"{root}/{name}" if name else root


def name_of(event: Event, distinction: str) -> str:
    """Return a name for *event*: its object's, as is the custom, and what sets it apart."""
    name = f"{event.regarding.name}.{distinction}"
    fits = len(name) <= LONGEST_NAME and _NAME.fullmatch(name)
    return name if fits else f"glasswarden.{distinction}"


def manifest_of(
    event: Event, name: str, reporter: Reporter, begun: datetime, series: Series | None = None
) -> Object:
    """Return *event* as the API server takes it."""
    manifest: Object = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": _namespace(event)},
        "eventTime": _micro_time(begun),
        "reportingController": reporter.controller,
        "reportingInstance": reporter.instance[:LONGEST_INSTANCE],
        "type": "Warning" if event.warning else "Normal",
        "reason": event.reason,
        "action": event.action,
        "note": _cut(event.note),
        "regarding": _reference(event.regarding),
    }
    return manifest if series is None else manifest | series_of(series)


def series_of(series: Series) -> Object:
    """Return the merge patch that makes of an Event a series, or a longer one."""
    return {"series": {"count": series.count, "lastObservedTime": _micro_time(series.last)}}


def _namespace(event: Event) -> str:
    return event.regarding.namespace or _ORPHANAGE


def _reference(ref: Ref) -> Object:
    fields = {
        "apiVersion": f"{ref.group}/{ref.version}" if ref.group else ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
    }
    return {name: text for name, text in fields.items() if text}


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _cut(note: str) -> str:
    """Return *note* on one line, without what a terminal would obey, and no longer than it may be.

    Names and reasons are anybody's text.
    """
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in note)
    encoded = text.encode(errors="replace")
    if len(encoded) <= LONGEST_NOTE:
        return text
    return f"{encoded[: LONGEST_NOTE - len('…'.encode())].decode(errors='ignore')}…"
