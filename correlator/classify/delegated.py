"""A field that the policy gives to somebody other than Git."""

from correlator.classify.rule import Rule, Scene
from correlator.classify.suggest import ignore_rule
from correlator.classify.words import holders, writer
from correlator.finding import Cause, Class, Finding, Response, Verdict
from glasswarden.kube.diff import Change, is_covered
from glasswarden.policy.policy import Delegate, Policy


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
    """Tell whether *manager* is the delegate's, or the name of its account.

    A program that names no manager is recorded by its own name.
    """
    accounts = {actor.rpartition(":")[2] for actor in delegate.actors.exact}
    return manager in delegate.managers or manager in accounts


def _fits(finding: Finding, scene: Scene) -> bool:
    return delegate_of(finding, scene.policy) is not None


def _judge(finding: Finding, scene: Scene) -> Verdict:
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


RULE = Rule("delegated", _fits, _judge)
