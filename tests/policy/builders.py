"""Writes and policies for tests that name only what matters to them."""

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import Change
from glasswarden.kube.engines.engine import GitLocation, Owner
from glasswarden.kube.objects import Ref
from glasswarden.kube.paths import parse_path
from glasswarden.policy.case import Case
from glasswarden.policy.decide import decide
from glasswarden.policy.decision import Decision
from glasswarden.policy.load import parse_document
from glasswarden.policy.messages import render_denial, render_warnings
from glasswarden.policy.policy import DEFAULT, Policy, policy_of
from glasswarden.policy.types import Actor, Operation
from glasswarden.policy.write import Write

FLUX = Owner("flux", "shop", "flux-system", "Kustomization")
ARGOCD = Owner("argocd", "shop", "argocd", "Application")
WEB = Ref("apps", "v1", "Deployment", "shop", "web", "0b6f9e0c")

DEVELOPER = Actor("developer", groups=("developers",))
FLUX_CONTROLLER = Actor("system:serviceaccount:flux-system:kustomize-controller")
ARGOCD_CONTROLLER = Actor("system:serviceaccount:argocd:argocd-application-controller")
AUTOSCALER = Actor("system:serviceaccount:kube-system:horizontal-pod-autoscaler")

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_write(**differing: Any) -> Write:  # noqa: ANN401 - any field of a write
    """Return a developer's edit of Flux's Deployment, like any other but for *differing*."""
    fields: dict[str, Any] = {
        "operation": Operation.UPDATE,
        "target": WEB,
        "subresource": "",
        "actor": DEVELOPER,
        "manager": "kubectl-edit",
        "owner": FLUX,
        "changes": (a_change("/spec/replicas", 3, 5),),
    }
    return Write(**fields | differing)


def a_change(path: str, old: object = ABSENT, new: object = ABSENT) -> Change:
    """Return a change at *path*."""
    return Change(parse_path(path), old, new, "kubectl-edit", "Update")


def a_policy(text: str = "") -> Policy:
    """Return the policy that a file with *text* below its head makes."""
    return policy_of(parse_document(f"apiVersion: glasswarden.io/v1\nkind: Policy\n{text}"))


def a_case(write: Write, policy: Policy = DEFAULT, now: datetime = NOW) -> Case:
    """Return the case of *write*, at some moment."""
    return Case(write, policy, now)


@dataclass(frozen=True, slots=True)
class Answered(Decision):
    """A decision, with what the writer reads about it."""

    message: str = ""
    warnings: tuple[str, ...] = ()


def decided(write: Write, policy: Policy = DEFAULT, source: GitLocation | None = None) -> Answered:
    """Return the verdict on *write*, at some moment."""
    return answered(a_case(write, policy), source)


def answered(case: Case, source: GitLocation | None = None) -> Answered:
    """Return the verdict on *case*, with what the writer reads about it."""
    decision = decide(case)
    return Answered(
        **{each.name: getattr(decision, each.name) for each in fields(decision)},
        message=render_denial(decision, case, source),
        warnings=render_warnings(decision, case, source),
    )
