"""What a rule is, and what it may look at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from correlator.finding import Finding, Verdict
from glasswarden.kube.objects import Ref
from glasswarden.policy.policy import Policy


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known around a finding."""

    policy: Policy
    now: datetime
    rolling: frozenset[Ref] = frozenset()
    """Objects whose rollout has not finished."""
    autoscaled: frozenset[tuple[str, str, str]] = frozenset()
    """What autoscalers scale: kind, namespace and name."""

    ignores: tuple[Callable[[Finding], bool], ...] = ()
    """What tells whether an engine was told to leave a field alone."""

    open_grants: Mapping[str, datetime] = field(default_factory=dict)
    """When each break-glass grant ends that is open."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of difference: how it is recognised, and what it means."""

    name: str
    fits: Callable[[Finding, Scene], bool]
    judge: Callable[[Finding, Scene], Verdict]
