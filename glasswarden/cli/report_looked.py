"""What a report needs beside its records: looked up, and what could not be is remembered."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from correlator.audit.log import AuditLog
from correlator.declared import parse_address
from correlator.report.circle import Circle, circle_of
from correlator.report.compose import Surroundings
from correlator.report.model import Integrity, Unexplained
from correlator.report.unexplained import unexplained_in
from correlator.report.unrecorded import unrecorded_in
from correlator.standing import Answer, Looked, NotKnown
from glasswarden.cli.comparison import Comparison
from glasswarden.cli.drift.request import CannotLook
from glasswarden.cli.git import declared_in
from glasswarden.cli.kubectl_options import kubectl_of
from glasswarden.cli.ledger.masks import masks_at
from glasswarden.cli.ledger.options import own_key
from glasswarden.cli.ledger.words import counted
from glasswarden.cli.live import Live, Snapshot, looking
from glasswarden.cli.selection import PAGE, attempts_for, scope_of
from glasswarden.kube.objects import Object, Ref
from glasswarden.ledger.attempts import asked
from glasswarden.ledger.errors import KeyUnusable
from glasswarden.ledger.fsck.run import Fsck
from glasswarden.ledger.fsck.trust import Trust
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.question import Question
from glasswarden.ledger.record import Attempt
from glasswarden.policy.policy import Policy

MOST_FINDINGS: Final = 20
"""More findings of fsck than these are counted, not listed: the ledger itself is then the story."""

MOST_OBJECTS: Final = 200
"""More objects of a ticket than these are not asked about one by one."""


@dataclass(slots=True)
class Looking:
    """Looks around the records of one report."""

    ledger: Ledger
    address: str
    keys: Path | None
    question: Question
    policy: Policy
    audit: AuditLog | None
    git: str
    path: str
    folder: Path | None
    options: dict[str, Any]
    """kubectl's flags."""
    no_live: bool
    incomplete: list[str] = field(default_factory=list)

    @property
    def cluster(self) -> str:
        """The cluster that is looked at."""
        return self.question.cluster or ""

    def attempts(self) -> tuple[list[Attempt], Circle]:
        """Return the report's records, oldest first, and what it is about beside them.

        Who is refused names no ticket: under one, what was refused on its objects in its time is
        taken too.
        """
        own = attempts_for(self.ledger, self.question)
        circle = circle_of(scope_of(self.question), own)
        if not self.question.ticket:
            return own, circle
        beside = {each.id: each for each in (*own, *self._refused(circle))}
        return sorted(beside.values(), key=lambda each: (each.time, each.id)), circle

    def _refused(self, circle: Circle) -> Iterable[Attempt]:
        places = sorted(circle.objects)
        if len(places) > MOST_OBJECTS:
            rest = len(places) - MOST_OBJECTS
            self.incomplete.append(f"attempts refused on {rest} more objects: too many to ask for")
        for place in places[:MOST_OBJECTS]:
            question = Question(
                cluster=self.question.cluster,
                **place._asdict(),
                actor=self.question.actor,
                verdict="deny",
                since=circle.begin,
                until=circle.end,
                limit=PAGE,
            )
            yield from asked(self.ledger, question)

    def around(self, attempts: list[Attempt], circle: Circle, now: datetime) -> Surroundings:
        """Return what is known beside *attempts*."""
        live = self._live()
        declared, unread = declared_in(self.git, self.path) if self.git else (None, [])
        self.incomplete += unread
        standing = Looked(live or _nobody_looked, declared, masks_at(self.keys, self.address))
        around = Surroundings(
            standing=standing,
            open_grants=_open_grants(self.ledger, attempts, now),
            unexplained=self._unexplained(circle),
            integrity=_not_verified(),
        )
        if self.git and not parse_address(self.git).is_remote:
            folder = ("--path", self.path) if self.path else ()
            around = replace(around, repository=("--repo", self.git, *folder))
        if self.audit is None:
            return around
        self.incomplete += [f"{each.what}: {each.why}" for each in self.audit.incomplete]
        return replace(
            around,
            witnesses=self.audit.index.witnesses,
            unrecorded=unrecorded_in(self.audit.watch.sightings, circle, self.cluster),
        )

    def unread(self, around: Surroundings) -> list[str]:
        """Return what could not be looked at, once *around* was asked for all it was asked for."""
        standing = around.standing
        live = standing.live if isinstance(standing, Looked) else None
        missed = live.unread if isinstance(live, Live | Snapshot) else {}
        told = [f"{ref} could not be read: {why}" for ref, why in missed.items()]
        return list(dict.fromkeys((*self.incomplete, *told)))

    def _live(self) -> Live | Snapshot | None:
        return None if self.no_live else looking(self.folder, lambda: kubectl_of(self.options))

    def _unexplained(self, circle: Circle) -> tuple[Unexplained, ...] | None:
        """Return what differs from Git without a record; none where that cannot be told."""
        try:
            self._refuse_to_guess()
            scope = circle.scope
            result = Comparison(
                self.address,
                self.keys,
                self.cluster,
                self.policy,
                scope.namespace,
                scope.app,
                self.folder,
                self._kubeconfig(),
                self.audit,
                circle.home,
            ).made(self.git, self.path)
        except CannotLook as error:
            self.incomplete.append(f"what differs from Git without a record: {error.message}")
            return None
        self.incomplete += [f"{each.what}: {each.why}" for each in result.incomplete]
        return unexplained_in(result.findings, circle, self.cluster)

    def _kubeconfig(self) -> Path | None:
        """Return the one that kubectl goes by, where one is named."""
        named = self.options["kubeconfig"] or os.environ.get("KUBECONFIG")
        return Path(named) if named else None

    def _refuse_to_guess(self) -> None:
        """Raise `CannotLook` where comparing would look at nothing, or at something else."""
        if not self.git:
            raise CannotLook("needs --git")
        if self.no_live:
            raise CannotLook("no cluster was asked (--no-live)")
        if self.folder is None and (self.options["context"] or self.options["as_"]):
            raise CannotLook("a comparison knows no --context and no --as; name a --kubeconfig")


def trusted_by(public_keys: tuple[str, ...], keys: Path | None, address: str) -> frozenset[str]:
    """Return whose signatures count: as was said, or by the key at hand, as for `ledger fsck`."""
    try:
        return frozenset(public_keys) or own_key(keys, address)
    except KeyUnusable:
        return frozenset()  # a folder that has only the keys of masks


def integrity_of(ledger: Ledger, trusted: frozenset[str]) -> Integrity:
    """Return what verifying the whole *ledger* gives, by the keys *trusted*, if any."""
    run = Fsck(ledger, Trust(trusted or None))
    findings = [str(finding) for finding in run.findings()]
    tally = run.tally
    read = f"{counted(tally.records, 'record')} in {counted(tally.chains, 'chain')}"
    if not findings:
        whose = "" if trusted else " by the keys found in it: none was given to trust"
        return Integrity(verdict=Answer.YES, statement=f"The ledger verifies, {read}{whose}.")
    more = [f"… and {len(findings) - MOST_FINDINGS} more"] if len(findings) > MOST_FINDINGS else []
    return Integrity(
        verdict=Answer.NO,
        statement=f"The ledger does NOT verify: {counted(len(findings), 'finding')}, {read}.",
        findings=(*findings[:MOST_FINDINGS], *more),
    )


def _not_verified() -> Integrity:
    return Integrity(
        verdict=Answer.UNKNOWN,
        statement="The ledger was not verified for this report; --verify does.",
    )


def _open_grants(ledger: Ledger, attempts: Iterable[Attempt], now: datetime) -> frozenset[str]:
    return frozenset(
        record.entry.grant
        for cluster in {attempt.cluster for attempt in attempts}
        for record in ledger.open_grants(cluster, now)
        if isinstance(record.entry, Attempt)
    )


def _nobody_looked(_ref: Ref) -> Object | None:
    raise NotKnown
