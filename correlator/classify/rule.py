"""What a rule is, and what it may look at."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from correlator.finding import Finding, Verdict
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Ref
from glasswarden.policy.policy import Policy

_HEX: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{40,64}(?![0-9a-f])")


@dataclass(frozen=True, slots=True)
class Following:
    """How far a reconciler follows Git."""

    trouble: str = ""
    """What keeps it from following; empty where nothing does."""
    applied: str = ""
    """The revision that it applied last; empty where that is not known."""

    def has_applied(self, revision: str) -> bool | None:
        """Return whether *revision*, a commit, is what it applied last; nothing if nobody knows."""
        commit = revision.removesuffix("-dirty")
        # A chart's version, or an image's digest, cannot be compared with a commit.
        named = next((each for each in _HEX.findall(self.applied) if len(each) == len(commit)), "")
        if not named or (named == commit and commit != revision):
            return None
        return bool(named == commit)


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known around a finding."""

    policy: Policy
    now: datetime
    rolling: frozenset[Ref] = frozenset()
    """Objects whose rollout has not finished."""
    autoscaled: Mapping[tuple[str, str, str], tuple[int, int]] = field(default_factory=dict)
    """What autoscalers scale, by kind, namespace and name: the fewest and the most replicas."""

    ignores: tuple[Callable[[Finding], str], ...] = ()
    """What tells by which rule an engine leaves a field alone, if it does."""

    open_grants: Mapping[str, datetime] = field(default_factory=dict)
    """When each break-glass grant ends that is open."""

    following: Mapping[Owner, Following] = field(default_factory=dict)
    """How far the reconcilers of what was inspected follow Git."""

    def following_of(self, finding: Finding) -> Following:
        """Return how far the owner of *finding* follows Git, as far as that is known.

        What is not there carries no marks: it is the owner's of the rest, if there is but one.
        """
        owner = finding.owner
        if owner is None:
            known = [*self.following.values()] if finding.is_missing_object else []
            return known[0] if len(known) == 1 else Following()
        # Argo CD's marks leave the namespace out where it is Argo CD's own.
        found = (
            each
            for other, each in self.following.items()
            if (other.engine, other.kind, other.app) == (owner.engine, owner.kind, owner.app)
            and owner.namespace in (None, other.namespace)
        )
        return next(found, Following())


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of difference: how it is recognised, and what it means."""

    name: str
    fits: Callable[[Finding, Scene], bool]
    judge: Callable[[Finding, Scene], Verdict]
