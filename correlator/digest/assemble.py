"""From evidence to a review: records, grants, what differs today, and the history of findings.

Everything is read through the `Evidence`, so that a review agrees with every other command. What
could not be known is listed in the review.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from correlator.attribution.link import State
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import find_program, output_of
from correlator.digest.compose import (
    Episode,
    Period,
    ReviewEvidence,
    compose_review,
    find_ignored_since,
    teams_of,
)
from correlator.digest.model import Ignore, Review
from correlator.episodes.episode import Episode as Stored
from correlator.episodes.episode import FieldKey
from correlator.episodes.open import open_history
from correlator.finding import Finding, parse_time
from correlator.grants import Grant, grant_attempts_since, grants_of, ref_of_attempt
from correlator.inspection.evidence import Evidence, LiveUnavailable
from correlator.inspection.inspect import NothingInspected, inspect
from correlator.inspection.scope import InspectionScope
from correlator.inspection.sources import recorded_sources
from correlator.live.source import Kind, KindUnavailable
from correlator.sources.ignore_rules import Ignore as Rule
from correlator.sources.reconcilers import read_reconcilers
from correlator.still_live import UNKNOWN, FieldCheck, NotKnown
from glasswarden.cluster.client import ApiServerError
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.ledger.errors import LedgerError
from glasswarden.ledger.query import Question
from glasswarden.ledger.record import Attempt
from glasswarden.policy.policy import Policy

GRANTS_SINCE: Final = timedelta(days=90)
"""How far back grants are looked for: an open follow-up does not end with the week."""

MOST_OBJECTS: Final = 200
"""Objects that are read for the team that they are labelled with."""

PAGE: Final = 500
"""Records that are read at once."""

_APPLICATION: Final = Kind("argoproj.io", "v1alpha1", "Application")


def assemble_review(
    evidence: Evidence,
    scope: InspectionScope,
    period: Period,
    history: str,
    policy_file: Path | None = None,
) -> Review:
    """Return the review of *period*; *history* is the address of the service's findings.

    The age of a delegation is that of its line in *policy_file*. Raises `LedgerError`.
    """
    evidence.live_scope = scope.live
    assembly = _Assembly(evidence, scope, period, policy_file)
    attempts = assembly.attempts()
    return compose_review(
        period, attempts, assembly.gather_evidence(attempts, history), period.until
    )


@dataclass(slots=True)
class _Assembly:
    evidence: Evidence
    scope: InspectionScope
    period: Period
    policy_file: Path | None
    unknown: list[str] = field(default_factory=list)

    def attempts(self) -> list[Attempt]:
        """Return the records of both periods, oldest first."""
        question = Question(
            cluster=self.evidence.cluster or None,
            app=self.scope.app or None,
            namespace=self.scope.namespace or None,
            since=self.period.before,
            limit=PAGE,
        )
        return self.evidence.attempts(question)

    def gather_evidence(self, attempts: Sequence[Attempt], history: str) -> ReviewEvidence:
        """Return what is known besides the records."""
        audit, has_live = self.evidence.audit, self.evidence.has_live
        self.unknown += [f"{each.what}: {each.why}" for each in (audit.incomplete if audit else ())]
        grants = self._grants(min(self.period.before, self.period.until - GRANTS_SINCE))
        episodes = self._episodes(history)
        if not has_live:
            self.unknown.append("Live state was not inspected (--no-live).")
        findings = self._findings() if has_live else None
        ignores = self._ignores(findings) if findings is not None and self.evidence.git else []
        teams = self._teams(attempts, findings or ()) if has_live else {}
        return ReviewEvidence(grants, findings, ignores, episodes, tuple(self.unknown), teams)

    def _grants(self, since: datetime) -> list[Grant]:
        """Return the grants since *since*, with what became of their fields."""
        if self.evidence.ledger is None:
            return []
        story = grant_attempts_since(self.evidence.ledger, since, self.evidence.cluster)
        wanted = [each for each in story if self._includes(each) and not self._is_lost(each)]
        grants = grants_of(wanted, self._field_states() if wanted else lambda *_: UNKNOWN)
        if reason := self.evidence.live_failure:
            self.unknown.append(f"What is still live of grants: {reason}")
        return grants

    def _includes(self, attempt: Attempt) -> bool:
        here = self.scope.namespace in ("", attempt.namespace)
        return here and (not self.scope.app or attempt.app in ("", self.scope.app))

    def _is_lost(self, attempt: Attempt) -> bool:
        """Return whether the audit log shows that *attempt* was never stored."""
        witnesses = self.evidence.witnessed.witnesses
        witness = witnesses.get(attempt.id)
        return witness is not None and witness.stored is False

    def _field_states(self) -> FieldCheck:
        try:
            return self.evidence.field_states()
        except DeclaredUnreadable:
            return self.evidence.live_states()  # what differs from Git is reported as unknown

    def _findings(self) -> list[Finding] | None:
        """Return what differs from Git now; without Git, which direct writes are still live."""
        if self.evidence.git is None:
            what = "Additions, missing objects and candidates for pruning"
            self.unknown.append(f"{what}: without --git, only recorded writes were inspected.")
        sources = recorded_sources(self.evidence, self.scope)
        inspection = inspect(self.evidence, sources, self.scope, self.period.until)
        try:
            inspection.check()
        except NothingInspected as error:
            self.unknown.append(f"What differs today: {error}")
            return None
        result = inspection.result
        self.unknown += [f"{each.what}: {each.why}" for each in result.incomplete]
        return list(result.findings)

    def _ignores(self, findings: Sequence[Finding]) -> list[Ignore]:
        """Return the rules that leave differences alone, and for how many each is today."""
        try:
            reconcilers = read_reconcilers(self.evidence.live(self.scope.live))
        except (LiveUnavailable, ApiServerError) as error:
            self.unknown.append(f"What Applications ignore: {error}")
            return []
        ages = {rule.owner: self._ignored_since(rule.owner) for rule in reconcilers.ignores}
        found = [_ignore_of(rule, findings, ages[rule.owner]) for rule in reconcilers.ignores]
        found += _delegations(self.evidence.policy, self.policy_file, findings)
        if any(each.since is None for each in found):
            self.unknown.append("Since when some rules leave differences alone: nothing tells.")
        return found

    def _ignored_since(self, owner: Owner) -> datetime | None:
        # It was there a moment ago; its age is not worth more than that.
        with suppress(KindUnavailable, LiveUnavailable, ApiServerError):
            for each in self.evidence.live(self.scope.live).anywhere(_APPLICATION, owner.app):
                if ref_of(each).namespace == owner.namespace:
                    return find_ignored_since(each)
        return None

    def _teams(self, attempts: Sequence[Attempt], findings: Sequence[Finding]) -> Mapping[str, str]:
        """Return the team of each application by the labels of what happened to it."""
        written = ((each.app, ref_of_attempt(each)) for each in attempts)
        differing = ((each.owner.app, each.ref) for each in findings if each.owner is not None)
        places = {
            (app, replace(ref, uid="", version="")): ref for app, ref in (*written, *differing)
        }
        wanted = [(app, ref) for (app, _), ref in places.items() if app][:MOST_OBJECTS]
        return teams_of(self._find_labelled(wanted))

    def _find_labelled(self, wanted: Sequence[tuple[str, Ref]]) -> Iterator[tuple[str, Object]]:
        try:
            declared = self.evidence.declared_lookup()
        except DeclaredUnreadable:
            return  # reported where what differs was asked for
        for app, ref in wanted:
            found = [declared(ref)] if declared else []
            with suppress(NotKnown, ApiServerError):
                found.append(self.evidence.look_up(ref))
            yield from ((app, each) for each in found if each is not None)

    def _episodes(self, address: str) -> list[Episode] | None:
        """Return the history of findings that the service keeps, if it does."""
        try:
            with closing(open_history(address, create=False)) as history:
                stored = history.episodes(self.period.before, self.evidence.cluster)
        except LedgerError as error:
            self.unknown.append(f"The history of findings cannot be read: {error}")
            return None
        if not stored:
            why = "nothing drifted, or `glasswarden correlator` did not run"
            self.unknown.append(f"The history of findings is empty for both periods: {why}.")
            return None
        return [_episode(each) for each in stored if self._has(each)]

    def _has(self, stored: Stored) -> bool:
        last, scope = stored.last, self.scope
        return scope.namespace in ("", last.namespace) and scope.app in ("", last.app)


def _ignore_of(rule: Rule, findings: Sequence[Finding], since: datetime | None) -> Ignore:
    place = f"{rule.namespace or '*'}/{rule.name or '*'}"
    fields = [*map(str, rule.fields), *(f"what {each} holds" for each in sorted(rule.managers))]
    return Ignore(
        whose=f"{rule.owner.engine} {rule.owner.app}",
        what=f"{rule.kind or '*'} {place}: {', '.join(fields)}",
        covers=sum(map(rule.covers, findings)),
        since=since,
    )


def _delegations(policy: Policy, file: Path | None, findings: Sequence[Finding]) -> list[Ignore]:
    """Return the delegations that the policy file itself makes."""
    delegated = [
        line
        for each in findings
        if each.link is not None and each.link.state is State.DELEGATED
        for line in each.link.evidence
    ]
    return [
        Ignore(
            whose="the policy",
            what=f"{each.name}: {', '.join(map(str, each.fields))}",
            covers=sum(line.endswith(f" to {each.name}") for line in delegated),
            since=_first_commit_time(file, each.name) if file else None,
        )
        for each in policy.document.delegations
    ]


def _first_commit_time(file: Path, name: str) -> datetime | None:
    """Return when *name* came into *file* by its Git history; none where it has none."""
    try:
        git = find_program("git", "")
        log = ["log", "-1", "--format=%cI", f"-S{name}", "--", file.name]
        return parse_time(output_of([git, *log], file.absolute().parent).strip())
    except DeclaredUnreadable:
        return None


def _episode(stored: Stored) -> Episode:
    last = stored.last
    place = FieldKey(stored.cluster, last.group, last.kind, last.namespace, last.name, last.field)
    return Episode(place, last.app, last.team, stored.first_seen)
