"""The rules of break-glass, made ready: who may ask, where and when, and on which conditions."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from glasswarden.duration import parse_positive_duration
from glasswarden.kube.diff import Change
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.kube.patterns import PathPattern, overlaps, parse_pattern, walks_of
from glasswarden.policy import document as doc
from glasswarden.policy.matching import (
    Kinds,
    Names,
    ObjectSelector,
    kinds_of,
    names_of,
    selector_of,
)
from glasswarden.policy.types import Actor


@dataclass(frozen=True, slots=True)
class People:
    """Users and groups."""

    users: Names
    groups: Names

    def __contains__(self, actor: Actor) -> bool:
        return actor.name in self.users or bool(self.groups_of(actor))

    def groups_of(self, actor: Actor) -> tuple[str, ...]:
        """Return those of *actor*'s groups that are meant."""
        return tuple(group for group in actor.groups if group in self.groups)


@dataclass(frozen=True, slots=True)
class OfficeHours:
    """A part of the week, or all the rest of it."""

    days: frozenset[int]
    """Counted from Monday, which is 0."""
    start: time
    end: time
    zone: ZoneInfo
    outside: bool

    def __contains__(self, now: datetime) -> bool:
        there = now.astimezone(self.zone)
        inside = there.weekday() in self.days and self.start <= there.time() < self.end
        return inside is not self.outside

    def __str__(self) -> str:
        days = ", ".join(day for number, day in enumerate(doc.Day) if number in self.days)
        hours = f"{days} from {self.start:%H:%M} to {self.end:%H:%M} {self.zone}"
        return f"outside of {hours}" if self.outside else f"on {hours}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the policy."""

    document: doc.BreakGlassRule
    place: ObjectSelector
    people: People
    hours: OfficeHours | None
    ticket: re.Pattern[str]
    default_ttl: timedelta
    longest_ttl: timedelta
    closed: tuple[PathPattern, ...]
    closed_kinds: Kinds
    approvers: People | None
    within: timedelta
    """How long a request waits for them."""

    @property
    def name(self) -> str:
        """Its name in denials and records."""
        return self.document.name

    @property
    def is_limited(self) -> bool:
        """Whether it matters how many grants are open already."""
        most = self.document.most_open
        return most.person is not None or most.namespace is not None

    def is_for(self, actor: Actor, now: datetime) -> bool:
        """Return whether *actor* may ask by this rule at this hour."""
        return actor in self.people and (self.hours is None or now in self.hours)

    def is_about(self, ref: Ref, owner: Owner | None, labels: Mapping[str, object]) -> bool:
        """Return whether a grant on the object can be had by this rule.

        A Namespace is in itself. A grant on it covers those of the objects in it that the rule is
        about: that is asked of each when it is written to.
        """
        if is_namespace(ref) and not self.document.namespace_wide:
            return False
        return self.place.fits(in_own_namespace(ref), owner, labels)

    def outlives(self, start: datetime, now: datetime) -> bool:
        """Return whether a grant that began at *start* is older than any by this rule may get."""
        return now >= start + self.longest_ttl

    def closes(self, ref: Ref) -> bool:
        """Return whether objects of that kind stay closed."""
        return self.closed_kinds.fits(ref)

    def closed_by(self, changes: Sequence[Change]) -> PathPattern | None:
        """Return the pattern that keeps a field of *changes* closed, if one does."""
        walks = walks_of(self.closed)
        for change in changes:
            for walk in walks:
                if overlaps(walk, change.path, change.old, change.new):
                    return walk.pattern
        return None


def describe_people(subjects: doc.BreakGlassRule | doc.Approval) -> str:
    """Return who is meant, in words."""
    users = [f"user {name}" for name in subjects.users]
    return ", ".join([*users, *(f"group {name}" for name in subjects.groups)])


def is_namespace(ref: Ref) -> bool:
    """Return whether *ref* is a Namespace."""
    return ref.kind == "Namespace" and not ref.group


def in_own_namespace(ref: Ref) -> Ref:
    """Return *ref* in its namespace, which of a Namespace is itself."""
    return replace(ref, namespace=ref.name) if is_namespace(ref) else ref


def rules_of(rules: Iterable[doc.BreakGlassRule]) -> tuple[Rule, ...]:
    """Return *rules*, ready to be asked; the document has been checked."""
    return tuple(_rule(each) for each in rules)


def _rule(rule: doc.BreakGlassRule) -> Rule:
    approval = rule.approval
    return Rule(
        rule,
        selector_of(rule),
        People(names_of(rule.users), names_of(rule.groups)),
        _hours(rule.hours) if rule.hours else None,
        re.compile(rule.ticket),
        parse_positive_duration(rule.ttl.default),
        parse_positive_duration(rule.ttl.longest),
        tuple(map(parse_pattern, rule.closed)),
        kinds_of(rule.closed_kinds),
        People(names_of(approval.users), names_of(approval.groups)) if approval else None,
        parse_positive_duration(approval.within) if approval else timedelta(),
    )


def _hours(hours: doc.Hours) -> OfficeHours:
    week = list(doc.Day)
    return OfficeHours(
        frozenset(week.index(day) for day in hours.days),
        time.fromisoformat(hours.start),
        time.fromisoformat(hours.end),
        ZoneInfo(hours.timezone),
        hours.outside,
    )
