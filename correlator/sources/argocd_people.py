"""The people behind Argo CD's server: who changed something in its web UI, by its own Events.

To the API server such a change is the server's own. Events are kept for an hour, and anybody who
may create them can make one up: a hint, not evidence.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from correlator.finding import Finding, parse_time
from correlator.linker import Linking
from correlator.live.source import KindUnavailable, Live
from glasswarden.kube.objects import Object, Ref, annotations_of

SERVER: Final = "argocd-server"
"""What Argo CD's server calls itself in Events."""

_MANAGERS: Final = frozenset({"argocd", "argocd-server"})
"""It names no field manager, so the API server knows it by its program, which is one for all."""

_NOBODY: Final = "Unknown user"
_CLOSE: Final = timedelta(seconds=2)
"""An Event is written right after the change, and both count whole seconds."""

_WRITTEN: Final = re.compile(
    r"(?:patched|deleted) resource (?P<group>[^/ ]*)/(?P<kind>\S+) '(?P<name>[^']+)'$"
    r"|ran action \S+ on resource (?P<group2>[^/ ]*)/(?P<kind2>[^/ ]+)/(?P<name2>\S+)$"
)


@dataclass(frozen=True, slots=True)
class WebEdit:
    """What somebody did to an object of an Application, through Argo CD's server."""

    user: str
    time: datetime
    app: str
    group: str
    kind: str
    name: str
    is_deletion: bool

    def is_cause_of(self, finding: Finding) -> bool:
        """Return whether it is what *finding* came from."""
        ref, owner = finding.ref, finding.owner
        if (ref.group, ref.kind, ref.name) != (self.group, self.kind, self.name):
            return False
        if owner is None or owner.app != self.app:
            return False
        if finding.is_missing_object:
            return self.is_deletion
        wrote = [parse_time(each.time) for each in finding.holders if each.manager in _MANAGERS]
        return any(time is not None and abs(time - self.time) <= _CLOSE for time in wrote)


def web_edits(events: Iterable[Object]) -> list[WebEdit]:
    """Return the edits in *events*, the newest first; incomplete ones are left out."""
    found = (edit for event in events if (edit := _web_edit(event)) is not None)
    return sorted(found, key=lambda edit: edit.time, reverse=True)


def naming(live: Live, linked: Linking) -> Linking:
    """Return *linked*, after which findings also name who was behind Argo CD's server."""

    def link(findings: Sequence[Finding]) -> Sequence[Finding]:
        found = linked(findings)
        if not any(map(_is_by_server, found)):
            return found
        try:
            edits = web_edits(live.events(SERVER))
        except KindUnavailable:
            return found  # a hint that is not to be had: nothing is missing without it
        return [_name_person(each, edits) for each in found]

    return link


def _name_person(finding: Finding, edits: list[WebEdit]) -> Finding:
    user = next((edit.user for edit in edits if edit.is_cause_of(finding)), "")
    return replace(finding, behind=user) if user else finding


def _is_by_server(finding: Finding) -> bool:
    is_argocds = finding.owner is not None and finding.owner.engine == "argocd"
    is_written = any(entry.manager in _MANAGERS for entry in finding.holders)
    return is_argocds and (is_written or finding.is_missing_object)


def _web_edit(event: Object) -> WebEdit | None:
    involved = event.get("involvedObject")
    user = annotations_of(event).get("user")
    time = parse_time(str(event.get("lastTimestamp") or event.get("firstTimestamp") or ""))
    match = _WRITTEN.search(str(event.get("message", "")))
    if not isinstance(involved, dict) or involved.get("kind") != "Application":
        return None
    if not isinstance(user, str) or user in ("", _NOBODY) or time is None or match is None:
        return None
    ref = _ref(match)
    is_deletion = event.get("reason") == "ResourceDeleted"
    app = str(involved.get("name", ""))
    return WebEdit(user, time, app, ref.group, ref.kind, ref.name, is_deletion)


def _ref(match: re.Match[str]) -> Ref:
    group, kind, name = (
        match[part] or match[f"{part}2"] or "" for part in ("group", "kind", "name")
    )
    return Ref(group, "", kind, "", name)
