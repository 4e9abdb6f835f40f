"""Findings with their causes: each drifted field linked to whoever drifted it.

All outputs use the same `Linker`: it takes findings before any value is masked, and returns them
with their links.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, tee
from typing import Final, TypeAlias

from correlator.attribution.context import Drifted, Knowledge
from correlator.attribution.ledger import Histories, knowledge_of
from correlator.attribution.link import Link, State, link
from correlator.classify.controller_rules import delegate_of
from correlator.detector.managers import appliers_for, may_write
from correlator.finding import Finding, is_comparable
from glasswarden.kube.objects import Ref
from glasswarden.ledger.ledger import Ledger
from glasswarden.ledger.masking import Masks
from glasswarden.ledger.record import Attempt
from glasswarden.policy.policy import Policy

OBJECTS_AT_ONCE: Final = 200
"""Objects whose histories are read together, and then let go of."""

Reader: TypeAlias = Callable[[Sequence[Ref]], Iterable[Iterable[Attempt]]]
"""Returns, for each object, what was attempted on it, newest first."""

Linking: TypeAlias = Callable[[Sequence[Finding]], Sequence[Finding]]
"""Returns findings with their links, in the same order."""


def leave_unlinked(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return *findings* as they are: there is no ledger to ask."""
    return findings


@dataclass(frozen=True, slots=True)
class Linker:
    """Links findings to the records of one cluster."""

    cluster: str
    histories: Reader
    knowledge: Knowledge
    policy: Policy
    masks: Masks | None = None

    def __call__(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return *findings* with their links, in the same order."""
        places: dict[Ref, list[int]] = {}
        for index, finding in enumerate(findings):
            places.setdefault(_place(finding.ref), []).append(index)
        found = list(findings)
        waiting = iter(places)
        while refs := list(islice(waiting, OBJECTS_AT_ONCE)):
            for ref, history in zip(refs, self.histories(refs), strict=True):
                rest = iter(history)
                for index in places[ref]:
                    rest, walk = tee(rest)
                    found[index] = self._link_finding(findings[index], walk)
        return found

    def _link_finding(self, finding: Finding, history: Iterable[Attempt]) -> Finding:
        if not is_comparable(finding.live):
            why = f"{finding.source} does not tell its value, so no record can be compared with it"
            return replace(finding, link=Link(State.UNEXPLAINED, why))
        cause = link(self._drifted_of(finding), history, self.knowledge, self.masks)
        return replace(finding, link=cause)

    def _drifted_of(self, finding: Finding) -> Drifted:
        delegate = delegate_of(finding, self.policy)
        return Drifted(
            self.cluster,
            finding.ref,
            finding.field,
            finding.declared,
            finding.live,
            finding.holders,
            delegate.name if delegate else "",
            tuple(filter(may_write, finding.entries)),
            appliers_for(finding.owner, self.policy),
            finding.generation,
        )


def linker_of(ledger: Ledger, cluster: str, policy: Policy, masks: Masks | None = None) -> Linker:
    """Return what links findings by what *ledger* knows at this moment."""
    knowledge = knowledge_of(ledger, cluster)
    return Linker(cluster, Histories(ledger, cluster), knowledge, policy, masks)


def _place(ref: Ref) -> Ref:
    """Return where the object is, whatever version it is read in and whichever object is there."""
    return replace(ref, version="", uid="")
