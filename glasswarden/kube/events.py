"""Renders Kubernetes Events about objects, which people read with kubectl.

Events are for people and are short-lived (an API server keeps them for an hour). No decision
depends on one, and none contains a value of an object.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from glasswarden.kube.objects import Object, Ref

LONGEST_NOTE: Final = 1024
"""Bytes; the API server rejects an Event with more."""

LONGEST_NAME: Final = 253
LONGEST_INSTANCE: Final = 128

_NAMESPACE_OF_CLUSTER_SCOPED: Final = "default"
"""The namespace of Events about cluster-scoped objects."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an object; equal ones form a series."""

    regarding: Ref
    reason: str
    """One word for programs, such as `WriteRefused`."""
    action: str
    """What was done, or would have been done: also one word."""
    note: str
    """The sentence that people read."""
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Reporter:
    """The program that reports, and the instance of it."""

    controller: str
    instance: str


@dataclass(frozen=True, slots=True)
class Series:
    """How often the same event occurred, and when last."""

    count: int
    last: datetime


def url_of(event: Event, name: str = "") -> str:
    """Return the path of the Events in the object's namespace, or of the one called *name*."""
    root = f"/apis/events.k8s.io/v1/namespaces/{_namespace_of(event)}/events"
    return f"{root}/{name}" if name else root


def name_of(event: Event, distinction: str) -> str:
    """Return a name for *event*: the object's name, by convention, and a unique suffix."""
    name = f"{event.regarding.name}.{distinction}"
    fits = len(name) <= LONGEST_NAME and _NAME.fullmatch(name)
    return name if fits else f"glasswarden.{distinction}"


def manifest_of(
    event: Event, name: str, reporter: Reporter, begun: datetime, series: Series | None = None
) -> Object:
    """Return *event* as a manifest for the API server."""
    manifest: Object = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": _namespace_of(event)},
        "eventTime": _render_micro_time(begun),
        "reportingController": reporter.controller,
        "reportingInstance": reporter.instance[:LONGEST_INSTANCE],
        "type": "Warning" if event.warning else "Normal",
        "reason": event.reason,
        "action": event.action,
        "note": _truncate_note(event.note),
        "regarding": _reference_to(event.regarding),
    }
    return manifest if series is None else manifest | series_of(series)


def series_of(series: Series) -> Object:
    """Return the merge patch that turns an Event into a series, or extends the series."""
    return {"series": {"count": series.count, "lastObservedTime": _render_micro_time(series.last)}}


def _namespace_of(event: Event) -> str:
    return event.regarding.namespace or _NAMESPACE_OF_CLUSTER_SCOPED


def _reference_to(ref: Ref) -> Object:
    fields = {
        "apiVersion": f"{ref.group}/{ref.version}" if ref.group else ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
    }
    return {name: text for name, text in fields.items() if text}


def _render_micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _truncate_note(note: str) -> str:
    """Return *note* on one line, without control characters, and within the limit.

    Names and reasons are text from users.
    """
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in note)
    encoded = text.encode(errors="replace")
    if len(encoded) <= LONGEST_NOTE:
        return text
    return f"{encoded[: LONGEST_NOTE - len('…'.encode())].decode(errors='ignore')}…"
