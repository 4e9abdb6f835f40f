"""Words that rules share: how an object is named on a command line, and how a manager is called."""

import shlex

from correlator.finding import Finding, time_as_text
from correlator.link.link import State
from glasswarden.kube.objects import Ref


def kubectl(verb: str, ref: Ref, *more: str) -> str:
    """Return the kubectl command that does *verb* to *ref*."""
    kind = f"{ref.kind}.{ref.group}" if ref.group else ref.kind
    place = ["-n", ref.namespace] if ref.namespace else []
    return shlex.join(["kubectl", *verb.split(), f"{kind.lower()}/{ref.name}", *place, *more])


def holders(finding: Finding) -> str:
    """Return the command that shows who holds each field of the object."""
    return kubectl("get", finding.ref, "-o", "yaml", "--show-managed-fields")


def writer(finding: Finding) -> str:
    """Return who wrote the live value and when, as far as managedFields tell."""
    if not finding.managers:
        return "no field manager holds it"
    text = f"field manager {finding.managers[0]!r} holds it"
    since = time_as_text(finding.since)
    behind = f", for {finding.behind} as it says" if finding.behind else ""
    return f"{text} since {since}{behind}" if since else f"{text}{behind}"


def is_explained(finding: Finding) -> bool:
    """Tell whether records name who wrote the live value: a manager's name then counts no more."""
    link = finding.link
    return link is not None and link.state is State.EXPLAINED and link.actor != ""


def status_of(finding: Finding) -> str:
    """Return the command that shows how the owner's reconciler is."""
    owner = finding.owner
    if owner is None:
        return holders(finding)
    namespace = f" -n {owner.namespace}" if owner.namespace else " -A"
    return f"kubectl get {owner.kind.lower() or 'application'} {owner.app}{namespace} -o yaml"
