"""Class rules for differences that no person made.

- a field that the owner's engine is configured to ignore;
- replicas that an autoscaler sets while Git declares a number;
- a certificate authority that a controller writes into webhooks, definitions and API services;
- a field that the policy delegates;
- a field that the API server sets by default, reported by another program;
- a container or volume that a mutating webhook added to a pod template;
- a field that the owner's manager still holds: the reconciler does not follow Git, or not yet.
  While the last rollout is not finished, the next step may only wait for it;
- a field of an object without an owner. No engine follows Git there, so a direct change and a
  missing deployment cannot be distinguished.
"""

import shlex
from typing import Final

from correlator.classify.advice import (
    costly,
    engine_rule,
    holders,
    ignore_rule,
    is_explained,
    removal,
    status_of,
    writer,
)
from correlator.classify.rule import Rule, Scene
from correlator.detector.defaults import is_default
from correlator.detector.managers import is_kubernetes, is_person, managers_for
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.diff import Change, is_covered
from glasswarden.kube.engines.registry import ENGINES, drift_of
from glasswarden.kube.notation import kubectl
from glasswarden.kube.paths import REPLICAS, Select
from glasswarden.kube.patterns import parse_pattern
from glasswarden.kube.schema import shape_of
from glasswarden.policy.policy import Delegate, Policy


def _why(finding: Finding, scene: Scene) -> str:
    return next(filter(None, (ignores(finding) for ignores in scene.ignores)), "")


def _is_ignored(finding: Finding, scene: Scene) -> bool:
    return bool(_why(finding, scene))


def _judge_ignored(finding: Finding, scene: Scene) -> Verdict:
    return Verdict(
        Class.CONTROLLER_MANAGED,
        Cause.CONTROLLER,
        Response.IGNORE,
        f"{_why(finding, scene)}; {writer(finding)}",
        holders(finding),
    )


IGNORED = Rule("ignored", _is_ignored, _judge_ignored)


def _is_autoscaler(finding: Finding, scene: Scene) -> bool:
    if finding.field != REPLICAS or is_explained(finding):
        return False
    if finding.managers and is_person(finding.managers[0]):
        return False
    ref = finding.ref
    limits = scene.autoscaled.get((ref.kind, ref.namespace, ref.name))
    if limits is not None:
        return _is_within(finding.live, *limits)
    # Of Kubernetes' own programs only the autoscaler writes through `scale`.
    return any(map(is_kubernetes, finding.managers))


def _is_within(replicas: Value, fewest: int, most: int) -> bool:
    # An object that is scaled to none is out of its autoscaler's hands until somebody scales it up.
    return isinstance(replicas, int) and fewest <= replicas <= most


def _judge_autoscaler(finding: Finding, _: Scene) -> Verdict:
    advice = [removal(finding)] if finding.declared is not ABSENT else []
    if finding.owner is not None and drift_of(finding.owner.engine).ignores_declared_fields:
        advice.append(engine_rule(finding))
    return Verdict(
        Class.CONTROLLER_MANAGED,
        Cause.CONTROLLER,
        Response.IGNORE,
        "an autoscaler sets the replicas while Git declares them: each undoes the other's work",
        kubectl("describe", finding.ref),
        "\n".join(advice),
    )


AUTOSCALER = Rule("autoscaler", _is_autoscaler, _judge_autoscaler)


_PLACES: Final = tuple(
    map(
        parse_pattern,
        (
            "/webhooks[*]/clientConfig/caBundle",
            "/spec/conversion/webhook/clientConfig/caBundle",
            "/spec/caBundle",
        ),
    )
)


_INJECTORS: Final = frozenset(
    {
        "cainjector", "cert-manager-cainjector", "gatekeeper", "glasswarden-certs", "kyverno",
        "pilot-discovery", "service-ca-operator",
    }
)  # fmt: skip
"""Programs that are known to write it. The policy may name others: then the field is delegated."""


def _is_authority(finding: Finding, _: Scene) -> bool:
    # Whoever can swap an authority can stand in for the server behind it.
    is_written = isinstance(finding.live, str) and finding.live != ""
    return (
        is_written
        and any(place.matches(finding.field) for place in _PLACES)
        and bool(finding.managers)
        and finding.managers[0] in _INJECTORS
        and not is_explained(finding)
    )


def _judge_authority(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.CONTROLLER_MANAGED,
        Cause.CONTROLLER,
        Response.IGNORE,
        "certificates are renewed by a controller, which writes their authority here; "
        + writer(finding),
        holders(finding),
        ignore_rule(finding),
    )


AUTHORITY = Rule("authority", _is_authority, _judge_authority)


def delegate_of(finding: Finding, policy: Policy) -> Delegate | None:
    """Return to whom *policy* gives the field, if that is who holds it."""
    change = Change(finding.field, finding.declared, finding.live)
    return next(
        (
            each
            for each in policy.delegates
            if any(_is_named(manager, each) for manager in finding.managers)
            and each.place.fits(finding.ref, finding.owner, {})
            and is_covered(change, each.fields)
        ),
        None,
    )


def _is_named(manager: str, delegate: Delegate) -> bool:
    """Return whether *manager* is the delegate's, or the name of its account.

    A program that names no manager is recorded by its own name.
    """
    accounts = {actor.rpartition(":")[2] for actor in delegate.actors.exact}
    return manager in delegate.managers or manager in accounts


def _is_delegated(finding: Finding, scene: Scene) -> bool:
    return delegate_of(finding, scene.policy) is not None


def _judge_delegated(finding: Finding, scene: Scene) -> Verdict:
    delegate = delegate_of(finding, scene.policy)
    name = delegate.name if delegate else ""
    return Verdict(
        Class.CONTROLLER_MANAGED,
        Cause.CONTROLLER,
        Response.IGNORE,
        f"the policy gives this field to {name!r}; {writer(finding)}",
        holders(finding),
        ignore_rule(finding),
    )


DELEGATED = Rule("delegated", _is_delegated, _judge_delegated)


def _is_defaulted(finding: Finding, _: Scene) -> bool:
    is_addition = finding.declared is ABSENT and finding.live is not ABSENT
    return (
        is_addition
        and not finding.managers
        and shape_of(finding.ref).typed
        and is_default(finding.field, finding.live, finding.ref.kind)
    )


def _judge_defaulted(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.RUNTIME_METADATA,
        Cause.DEFAULTING,
        Response.IGNORE,
        "Git does not mention it, and it is what the API server fills in where nothing is said",
        shlex.join(["kubectl", "explain", finding.ref.kind.lower()]),
    )


DEFAULTED = Rule("defaulted", _is_defaulted, _judge_defaulted)


def _is_injected(finding: Finding, _: Scene) -> bool:
    is_addition = finding.declared is ABSENT and finding.live is not ABSENT
    return is_addition and not finding.managers and isinstance(finding.field.step, Select)


def _judge_injected(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.CONTROLLER_MANAGED,
        Cause.CONTROLLER,
        Response.IGNORE,
        "no field manager holds it: a mutating webhook put it there when the object was written",
        holders(finding),
        ignore_rule(finding),
    )


INJECTED = Rule("injected", _is_injected, _judge_injected)


def _is_lagging(finding: Finding, scene: Scene) -> bool:
    if finding.live is ABSENT or finding.owner is None or not finding.managers:
        return False
    return managers_for(finding.owner, scene.policy).applies(finding.managers[0])


def _judge_lagging(finding: Finding, scene: Scene) -> Verdict:
    if finding.ref in scene.rolling:
        reason = "a rollout of the owner's last change has not finished; it may still be at work"
        verify = kubectl("rollout status", finding.ref)
        response = Response.ALERT
    else:
        reason = "nobody changed it by hand: Git moved on, and its reconciler has not applied it"
        verify = status_of(finding)
        response = Response.ESCALATE
    return Verdict(
        Class.SYNC_AVAILABILITY,
        Cause.RECONCILIATION_FAILURE,
        response,
        f"{reason}; field manager {finding.managers[0]!r} holds the live value",
        verify,
    )


LAGGING = Rule("lagging", _is_lagging, _judge_lagging)


def _is_deployed(finding: Finding, scene: Scene) -> bool:
    if finding.live is ABSENT or finding.owner is not None or not finding.managers:
        return False
    return managers_for(None, scene.policy).applies(finding.managers[0])


def _judge_deployed(finding: Finding, _: Scene) -> Verdict:
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ESCALATE,
        "no engine owns it, and it was deployed with something else than Git declares: by somebody "
        f"else's hand, or before Git moved on; {writer(finding)}",
        holders(finding),
    )


DEPLOYED = Rule("deployed", _is_deployed, _judge_deployed)


_SEEN_BY_US: Final = frozenset({"git"}).union(*(engine.drift.sources for engine in ENGINES))


def _is_imported(finding: Finding, _: Scene) -> bool:
    return finding.source not in _SEEN_BY_US and not finding.managers


def _judge_imported(finding: Finding, _: Scene) -> Verdict:
    cost = costly(finding)
    return Verdict(
        Class.DESIRED_CONFIGURATION,
        Cause.PERSON,
        Response.ALERT if cost else Response.ESCALATE,
        f"{finding.source} told it, but not who wrote it" + (f"; {cost}" if cost else ""),
        holders(finding),
    )


IMPORTED = Rule("imported", _is_imported, _judge_imported)
