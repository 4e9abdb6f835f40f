"""From records, grants and findings to a review. Pure: all evidence comes as arguments.

The team of an application is read from the labels of its objects, and the age of an ignore rule
from the managed fields of the object that holds it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from correlator.attribution.link import State as Linked
from correlator.digest.model import (
    Application,
    Count,
    Drift,
    Ignore,
    Orphan,
    Overdue,
    Repeated,
    Review,
    Unexplained,
)
from correlator.episodes.episode import FieldKey
from correlator.finding import Finding, Response, parse_time
from correlator.grants import Field, Grant, State
from correlator.still_live import Answer
from glasswarden.kube.managed_fields import entries_of, owners_at
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import path_of
from glasswarden.ledger.record import Attempt
from glasswarden.ledger.writes import writes_of

OFTEN = 2
"""So many times make a field a repeated one."""


@dataclass(frozen=True, slots=True)
class Period:
    """The time that is reviewed, and the one just as long before it."""

    since: datetime
    until: datetime

    @property
    def before(self) -> datetime:
        """When the period before began."""
        return self.since - (self.until - self.since)


@dataclass(frozen=True, slots=True)
class Episode:
    """A field that was not as Git says, for a while, as the history of findings has it."""

    place: FieldKey
    app: str
    team: str
    began: datetime


@dataclass(frozen=True, slots=True)
class ReviewEvidence:
    """What is known beside the records, of both periods; none is what was not inspected."""

    grants: Sequence[Grant] = ()
    findings: Sequence[Finding] | None = None
    ignores: Sequence[Ignore] = ()
    episodes: Sequence[Episode] | None = None
    unknown: tuple[str, ...] = ()
    teams: Mapping[str, str] = field(default_factory=dict)
    """By application, as the labels of its objects say."""


def compose_review(
    period: Period, attempts: Iterable[Attempt], seen: ReviewEvidence, now: datetime
) -> Review:
    """Return the review of *period*; *attempts* are those since the period before, oldest first."""
    writes = [tries[-1] for tries in writes_of(attempts) if _is_write(tries[-1])]
    lately = [each for each in writes if each.time >= period.since]
    earlier = [each for each in writes if each.time < period.since]
    episodes = _episodes_since(seen.episodes, period.since)
    overdue = [each for each in seen.grants if each.state_at(now) is State.OVERDUE]
    return Review(
        made=now,
        since=period.since,
        until=period.until,
        writes=_count_both(_admitted_writes(lately), _admitted_writes(earlier)),
        refused=_count_both(_denied_writes(lately), _denied_writes(earlier)),
        people=_count_both({each.actor for each in lately}, {each.actor for each in earlier}),
        grants=_count_both(*_split_grants(seen.grants, period)),
        episodes=_count_episodes(seen.episodes, period),
        repeated=tuple(_find_repeated(lately, episodes)),
        applications=tuple(_summarize_applications(lately, earlier, seen)),
        overdue=tuple(_overdue_of(each) for each in overdue),
        unchecked=sum(each.state_at(now) is State.UNCHECKED for each in seen.grants),
        drift=None if seen.findings is None else _drift_of(seen.findings, seen.ignores),
        unknown=seen.unknown,
    )


def _is_write(attempt: Attempt) -> bool:
    """Return whether anything was to change: asking for a grant alone changes nothing."""
    return bool(attempt.changes or attempt.unlisted) or attempt.operation in {"CREATE", "DELETE"}


def _admitted_writes(writes: Sequence[Attempt]) -> list[Attempt]:
    return [each for each in writes if each.verdict == "allow"]


def _denied_writes(writes: Sequence[Attempt]) -> list[Attempt]:
    return [each for each in writes if each.verdict == "deny"]


def _count_both(now: Sequence[object] | set[str], before: Sequence[object] | set[str]) -> Count:
    return Count(now=len(now), before=len(before))


def _split_grants(grants: Sequence[Grant], period: Period) -> tuple[list[Grant], list[Grant]]:
    lately = [each for each in grants if period.since <= each.start < period.until]
    return lately, [each for each in grants if period.before <= each.start < period.since]


def _episodes_since(episodes: Sequence[Episode] | None, since: datetime) -> list[Episode] | None:
    return None if episodes is None else [each for each in episodes if each.began >= since]


def _count_episodes(episodes: Sequence[Episode] | None, period: Period) -> Count | None:
    if episodes is None:
        return None
    before = [each for each in episodes if period.before <= each.began < period.since]
    return _count_both(_episodes_since(episodes, period.since) or [], before)


def _find_repeated(
    writes: Sequence[Attempt], episodes: Sequence[Episode] | None
) -> Iterable[Repeated]:
    """Yield the fields that were changed, or drifted, more than once; the most often first."""
    by_place: dict[FieldKey, list[Attempt]] = defaultdict(list)
    for each in writes:
        for path in dict.fromkeys(change.path for change in each.changes):
            by_place[_field_key_of(each, path)].append(each)
    back = Counter(each.place for each in episodes or ())
    often = {*by_place, *back}
    ranked = sorted(often, key=lambda place: (-max(len(by_place[place]), back[place]), place))
    for place in ranked:
        changed = by_place[place]
        if max(len(changed), back[place]) >= OFTEN:
            yield Repeated(
                cluster=place.cluster,
                subject=place.subject,
                path=place.field,
                times=len(_admitted_writes(changed)),
                refused=len(_denied_writes(changed)),
                came_back=None if episodes is None else back[place],
                actors=_distinct_words(each.actor for each in changed),
                tickets=_distinct_words(each.ticket for each in changed),
            )


def _field_key_of(attempt: Attempt, path: str) -> FieldKey:
    return FieldKey(
        attempt.cluster, attempt.group, attempt.kind, attempt.namespace, attempt.name, path
    )


def _distinct_words(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, words)))


def _summarize_applications(
    lately: Sequence[Attempt], earlier: Sequence[Attempt], seen: ReviewEvidence
) -> Iterable[Application]:
    """Yield each application that something happened to; the busiest first."""
    now, before = (
        Counter(each.app for each in _admitted_writes(some)) for some in (lately, earlier)
    )
    denied = Counter(each.app for each in _denied_writes(lately))
    findings = [each for each in seen.findings or () if not _is_ignored(each)]
    drifted = Counter(_app_of(each) for each in findings)
    unexplained = Counter(_app_of(each) for each in findings if _is_unexplained(each))
    told = {each.app: each.team for each in seen.episodes or () if each.team}
    teams = {**seen.teams, **told}
    names = {*now, *before, *denied, *drifted}
    for name in sorted(names, key=lambda app: (-now[app] - denied[app] - drifted[app], app)):
        yield Application(
            name=name,
            team=teams.get(name, ""),
            writes=Count(now=now[name], before=before[name]),
            refused=denied[name],
            drifted=None if seen.findings is None else drifted[name],
            unexplained=None if seen.findings is None else unexplained[name],
        )


def _app_of(finding: Finding) -> str:
    return finding.owner.app if finding.owner is not None else ""


def _overdue_of(grant: Grant) -> Overdue:
    open_fields = [each for each in grant.fields if each.needs_follow_up is Answer.YES]
    return Overdue(
        cluster=grant.cluster,
        grantee=grant.grantee,
        subject=grant.subject,
        ticket=grant.ticket,
        reason=grant.reason,
        ended=grant.end,
        fields=tuple(_field_name_of(each) for each in open_fields),
    )


def _field_name_of(field: Field) -> str:
    return field.change.path


def _drift_of(findings: Sequence[Finding], ignores: Sequence[Ignore]) -> Drift:
    counted = [each for each in findings if not _is_ignored(each)]
    return Drift(
        fields=len(counted),
        unexplained=tuple(
            Unexplained(
                subject=str(each.ref),
                path=str(each.field),
                why=each.link.why if each.link is not None else "",
            )
            for each in counted
            if _is_unexplained(each)
        ),
        orphans=tuple(
            Orphan(subject=str(each.ref), owner=_app_of(each))
            for each in findings
            if each.is_orphan
        ),
        ignores=tuple(sorted(ignores, key=lambda each: (each.covers, each.whose, each.what))),
    )


def _is_ignored(finding: Finding) -> bool:
    return finding.verdict is not None and finding.verdict.response is Response.IGNORE


def _is_unexplained(finding: Finding) -> bool:
    return finding.link is not None and finding.link.state is Linked.UNEXPLAINED


_RULES: Final = path_of("spec", "ignoreDifferences")


def find_ignored_since(application: Object) -> datetime | None:
    """Return since when, at the latest, *application* has its rules; none where nobody tells.

    A manager's time is that of its last write to the object, and it had written them by then.
    """
    holders = owners_at(entries_of(application), _RULES)
    times = [time for each in holders if (time := parse_time(each.time)) is not None]
    return min(times, default=None)


def teams_of(objects: Iterable[tuple[str, Object]]) -> dict[str, str]:
    """Return the team of each application, or its teams, by its name and *objects*."""
    named: dict[str, set[str]] = {}
    for app, obj in objects:
        if team := _team_label_of(obj):
            named.setdefault(app, set()).add(team)
    return {app: ", ".join(sorted(teams)) for app, teams in named.items()}


def _team_label_of(obj: Object) -> str:
    """Return what the label `team` says, or one that ends so, such as `example.com/team`."""
    metadata = obj.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if not isinstance(labels, dict):
        return ""
    own = [str(value) for key, value in labels.items() if key.rpartition("/")[2] == "team"]
    return str(labels.get("team") or next(iter(own), ""))
