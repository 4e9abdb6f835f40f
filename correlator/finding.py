"""A finding: one field, or one object, that is not as Git declares. All sources give this type."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from correlator.attribution.link import Link
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.diff import Change
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.managed_fields import Entry
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import ROOT, Path
from glasswarden.policy.policy import Policy

HIDDEN: Final = "(hidden)"
"""Stands for a value that is nobody's business; that it differs is not hidden."""

UNKNOWN: Final = "(not known)"
"""Stands for a value that the finding's source cannot tell."""

PART: Final = "… "
"""Begins a text of which the finding's source tells only a part."""

_WORDS: Final = frozenset({HIDDEN, UNKNOWN, "Synced", "OutOfSync"})
"""Texts that stand for a whole object and hold nothing of it."""


class Class(StrEnum):
    """What kind of difference it is."""

    DESIRED_CONFIGURATION = "desired-configuration"
    RUNTIME_METADATA = "runtime-metadata"
    CONTROLLER_MANAGED = "controller-managed"
    ORPHAN = "orphan"
    SYNC_AVAILABILITY = "sync-availability"


class Cause(StrEnum):
    """Who or what made it."""

    PERSON = "person"
    CONTROLLER = "controller"
    DEFAULTING = "defaulting"
    RECONCILIATION_FAILURE = "reconciliation-failure"
    UNKNOWN = "unknown"


class Response(StrEnum):
    """What to do about it first."""

    AUTO_HEAL = "auto-heal"
    ALERT = "alert"
    IGNORE = "ignore"
    BACKPORT = "backport"
    PRUNE = "prune"
    ESCALATE = "escalate"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a finding means."""

    kind: Class
    cause: Cause
    response: Response
    reason: str
    """Why, in words."""
    verify: str
    """The command that shows whether that is so."""
    suggestion: str = ""
    """A narrow rule, ready to paste, for what is to be ignored or moved out of Git."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference between what is declared and what is live."""

    ref: Ref
    field: Path
    """The root when the whole object is missing, or is one too many."""
    declared: Value
    """`ABSENT` when Git does not mention it."""
    live: Value
    """`ABSENT` when the cluster lacks it."""
    since: datetime | None
    """When the live value was written, as far as managedFields tell."""
    source: str
    """What found it."""
    revision: str = ""
    """The revision of Git that declares it."""
    owner: Owner | None = None
    """Whose object it is."""
    holders: tuple[Entry, ...] = ()
    """The managedFields entries that hold the live value, without the fields themselves."""
    entries: tuple[Entry, ...] = ()
    """All managedFields entries of the object, likewise; empty where nobody looked."""
    origin: str = ""
    """The file that declares the object, and the line."""
    verdict: Verdict | None = None
    link: Link | None = None
    """Who did it, by the ledger; none where no ledger was asked."""
    behind: str = ""
    """Whom the writer says that it wrote for: a hint from a program that people write through."""
    generation: int = 0
    """How often the live object's spec was written, where that is counted and was read."""
    was_applied: bool | None = None
    """Whether the field was in what was applied last, where the object tells what that was."""
    numbered: Path | None = None
    """The field by the numbers that items have in the live object, where it leads through any."""

    @property
    def managers(self) -> tuple[str, ...]:
        """The field managers that hold the live value, the latest first."""
        latest_first = sorted(self.holders, key=lambda entry: entry.time, reverse=True)
        return tuple(dict.fromkeys(entry.manager for entry in latest_first))

    @property
    def is_missing_object(self) -> bool:
        """Whether Git declares an object that the cluster lacks."""
        return self.field == ROOT and self.live is ABSENT and self.declared is not ABSENT

    @property
    def is_orphan(self) -> bool:
        """Whether the cluster has an object that Git no longer declares."""
        return self.field == ROOT and self.declared is ABSENT and self.live is not ABSENT


class Hidden(StrEnum):
    """Which findings there may be in what was not inspected."""

    ANY = "any"
    ORPHANS = "orphans"
    ADDITIONS = "additions"
    NONE = "none"


@dataclass(frozen=True, slots=True, order=True)
class Incomplete:
    """Something that could not be inspected: nothing is known about drift there."""

    what: str
    why: str
    hides: Hidden = field(default=Hidden.ANY, compare=False)
    kinds: tuple[str, ...] = field(default=(), compare=False)
    """The kinds whose objects may differ unseen, by name; of any kind where it is empty."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one pass found, and what it could not see."""

    findings: tuple[Finding, ...] = ()
    incomplete: tuple[Incomplete, ...] = ()
    looked_for: str = "drift"
    """What is not there where nothing was found."""
    remarks: tuple[str, ...] = ()
    """What is worth knowing, and hides nothing."""


def join_results(one: Result, other: Result) -> Result:
    """Return both as one."""
    found, unseen = one.findings + other.findings, one.incomplete + other.incomplete
    return Result(found, unseen, one.looked_for, one.remarks + other.remarks)


def sort_key_of(finding: Finding) -> tuple[str, str, str, str, str]:
    """Return what findings are sorted by."""
    ref = finding.ref
    return ref.namespace, ref.kind, ref.group, ref.name, str(finding.field)


def is_comparable(value: Value) -> bool:
    """Return whether *value* is the value itself, and can be compared with others."""
    if not isinstance(value, str):
        return True
    return value not in (HIDDEN, UNKNOWN) and not value.startswith(PART)


def hide_secrets(finding: Finding, policy: Policy) -> Finding:
    """Return *finding* with values hidden that *policy* hides."""
    change = Change(finding.field, finding.declared, finding.live)
    if not policy.hides(finding.ref, change) and not _may_hold_secrets(finding, policy):
        return finding
    return replace(finding, declared=_hide_value(finding.declared), live=_hide_value(finding.live))


def _may_hold_secrets(finding: Finding, policy: Policy) -> bool:
    """Return whether text that describes more than one value may hold what *policy* hides."""
    values = (finding.declared, finding.live)
    is_object = finding.field == ROOT
    if not any(_is_lines(value, is_object=is_object) for value in values):
        return False
    return any(
        each.kinds.fits(finding.ref)
        and any(is_object or field.states_at(finding.field) for field in each.fields)
        for each in policy.hidden
    )


def _is_lines(value: Value, *, is_object: bool) -> bool:
    if not isinstance(value, str) or value in _WORDS:
        return False
    return is_object or value.startswith(PART)


def result_as_json(result: Result) -> dict[str, Any]:
    """Return *result* in the form that programs read."""
    told = {
        "findings": [finding_as_json(each) for each in result.findings],
        "incomplete": [{"what": each.what, "why": each.why} for each in result.incomplete],
    }
    return {**told, "remarks": list(result.remarks)} if result.remarks else told


def finding_as_json(finding: Finding) -> dict[str, Any]:
    """Return *finding* as JSON values; null stands for what is not there."""
    verdict = finding.verdict
    return {
        "object": _object_as_json(finding.ref),
        "field": str(finding.field),
        "declared": _as_json(finding.declared),
        "live": _as_json(finding.live),
        "class": verdict and verdict.kind,
        "cause": verdict and verdict.cause,
        "response": verdict and verdict.response,
        "reason": verdict and verdict.reason,
        "verify": verdict and verdict.verify,
        "suggestion": verdict and verdict.suggestion,
        "source": finding.source,
        "since": time_as_text(finding.since),
        "revision": finding.revision,
        "link": _link_as_json(finding.link),
        "behind": finding.behind,
    }


def _link_as_json(link: Link | None) -> dict[str, Any] | None:
    if link is None:
        return None
    return {
        "state": link.state,
        "why": link.why,
        "records": list(link.records),
        "actor": link.actor,
        "impersonator": link.impersonator,
        "address": link.source,
        "manager": link.manager,
        "time": time_as_text(link.time),
        "ticket": link.ticket,
        "grant": link.grant,
        "evidence": list(link.evidence),
        "confidence": link.confidence,
    }


def time_as_text(time: datetime | None) -> str | None:
    """Return *time* as Kubernetes writes it."""
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def latest_of(holders: tuple[Entry, ...]) -> datetime | None:
    """Return when the last of *holders* wrote, as far as that can be read."""
    times = [time for entry in holders if (time := parse_time(entry.time)) is not None]
    return max(times, default=None)


def parse_time(text: str) -> datetime | None:
    """Return the time that *text* gives, nothing where it gives none."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _object_as_json(ref: Ref) -> dict[str, str]:
    version = f"{ref.group}/{ref.version}" if ref.group else ref.version
    return {
        "apiVersion": version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
    }


def _as_json(value: Value) -> Any:  # noqa: ANN401 - any JSON value
    return None if value is ABSENT else value


def _hide_value(value: Value) -> Value:
    return ABSENT if value is ABSENT else HIDDEN
