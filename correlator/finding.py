"""A finding: one field, or one object, that is not as Git says. All sources give this type."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.diff import Change
from glasswarden.kube.objects import Ref
from glasswarden.kube.owners import Owner
from glasswarden.kube.paths import ROOT, Path
from glasswarden.policy.policy import Policy

HIDDEN: Final = "(hidden)"
"""Stands for a value that is nobody's business; that it differs is not hidden."""


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
    managers: tuple[str, ...] = ()
    """The field managers that hold the live value."""
    origin: str = ""
    """The file that declares the object, and the line."""
    verdict: Verdict | None = None

    @property
    def is_missing_object(self) -> bool:
        """Whether Git declares an object that the cluster lacks."""
        return self.field == ROOT and self.live is ABSENT

    @property
    def is_orphan(self) -> bool:
        """Whether the cluster has an object that Git no longer declares."""
        return self.field == ROOT and self.declared is ABSENT


@dataclass(frozen=True, slots=True, order=True)
class Incomplete:
    """Something that could not be looked at: where it is, nothing is known about drift."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Result:
    """What one pass found, and what it could not see."""

    findings: tuple[Finding, ...] = ()
    incomplete: tuple[Incomplete, ...] = ()


def joined(one: Result, other: Result) -> Result:
    """Return both as one."""
    return Result(one.findings + other.findings, one.incomplete + other.incomplete)


def without_secrets(finding: Finding, policy: Policy) -> Finding:
    """Return *finding* with values hidden that *policy* hides."""
    change = Change(finding.field, finding.declared, finding.live)
    if not policy.hides(finding.ref, change):
        return finding
    return replace(finding, declared=_hidden(finding.declared), live=_hidden(finding.live))


def result_as_json(result: Result) -> dict[str, Any]:
    """Return *result* in the form that programs read."""
    return {
        "findings": [finding_as_json(each) for each in result.findings],
        "incomplete": [{"what": each.what, "why": each.why} for each in result.incomplete],
    }


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
    }


def time_as_text(time: datetime | None) -> str | None:
    """Return *time* as Kubernetes writes it."""
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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


def _hidden(value: Value) -> Value:
    return ABSENT if value is ABSENT else HIDDEN
