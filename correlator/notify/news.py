"""What is new since the last look: records, grants, findings, configurations. Belongs to a thread.

Level-triggered: each look works from what is there. A process begins with what happens after it
began; what was told before is not told again, and what was never told because nobody ran is in the
ledger, not in the news.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from correlator.finding import Finding
from correlator.grants.grant import grants_of
from correlator.link.link import State
from correlator.notify.event import Event, Kind
from correlator.notify.occurrences import ended, event_of
from correlator.standing import Standings
from glasswarden.ledger.attempts import attempts_in
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.record import Attempt

OVERLAP: Final = timedelta(seconds=30)
"""A record may come late: from a spool, or from a writer whose clock is behind. What was told twice
is told once (`Groups`)."""

GRANTS_WITHIN: Final = timedelta(days=7)
"""How far back grants are followed: longer than any of them lives."""

Configurations = Mapping[str, dict[str, Any] | None]
"""Our webhook configurations as they are, by their path; none where one is not there."""


class News:
    """Knows up to when everything was told."""

    def __init__(self, began: datetime) -> None:
        self._began = began
        self._until = began
        self._granted: dict[str, Attempt] = {}
        """Recent records about grants, by their id."""
        self._configurations: dict[str, str] | None = None

    def of_ledger(
        self, ledger: Ledger, cluster: str, standing: Standings, now: datetime
    ) -> list[Event]:
        """Return what records of *cluster* tell since the last look; raises `LedgerError`."""
        since = max(self._began, self._until - OVERLAP)
        first = self._began - GRANTS_WITHIN if self._until == self._began else since
        read = [each for each in attempts_in(ledger, first) if each.cluster == cluster]
        self._remember(read, now)
        new = filter(None, (event_of(attempt) for attempt in read if attempt.time > since))
        grants = grants_of(sorted(self._granted.values(), key=lambda each: each.id), standing)
        events = [*new, *ended(grants, since, now)]
        self._until = now
        return events

    def _remember(self, read: Iterable[Attempt], now: datetime) -> None:
        """Keep what tells of grants, for as long as one may live: a week is read once."""
        self._granted |= {each.id: each for each in read if each.grant}
        oldest = now - GRANTS_WITHIN
        self._granted = {key: each for key, each in self._granted.items() if each.time > oldest}

    def of_configurations(self, found: Configurations, cluster: str, now: datetime) -> list[Event]:
        """Return which configurations of ours are not as they were at the last look."""
        marks = {path: _mark(each) for path, each in found.items()}
        before, self._configurations = self._configurations, marks
        if before is None:
            return []
        return [
            _changed(path, found[path], cluster, now)
            for path, mark in marks.items()
            if before.get(path, mark) != mark
        ]


def unexplained(
    found: Iterable[tuple[Finding, str]], cluster: str, now: datetime
) -> Iterator[Event]:
    """Yield the findings that nothing explains; each comes with the team that owns it."""
    for finding, team in found:
        link = finding.link
        if link is None or link.state is not State.UNEXPLAINED:
            continue
        ref = finding.ref
        place = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
        owner = finding.owner
        yield Event(
            id=f"{Kind.UNEXPLAINED_DRIFT}:{ref.uid or place}:{finding.field}:{finding.since or ''}",
            kind=Kind.UNEXPLAINED_DRIFT,
            time=finding.since or now,
            subject=f"{ref.kind} {place}",
            says=f"{finding.field} is not as Git says, and {link.why}",
            cluster=cluster,
            namespace=ref.namespace,
            engine=owner.engine if owner else "",
            application="/".join(filter(None, (owner.namespace, owner.app))) if owner else "",
            team=team,
        )


def _mark(configuration: dict[str, Any] | None) -> str:
    """Return what changes when somebody changes a configuration: not when authorities rotate."""
    if configuration is None:
        return ""
    entries = [
        each | {"clientConfig": {**each.get("clientConfig", {}), "caBundle": ""}}
        for each in configuration.get("webhooks") or ()
    ]
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def _changed(path: str, configuration: dict[str, Any] | None, cluster: str, now: datetime) -> Event:
    says = "was deleted: nothing is guarded" if configuration is None else "was changed"
    return Event(
        id=f"{Kind.CONFIGURATION_CHANGED}:{path}:{now.isoformat()}",
        kind=Kind.CONFIGURATION_CHANGED,
        time=now,
        subject="/".join(path.split("/")[-2:]),
        says=says,
        cluster=cluster,
    )
