"""What a person reads in the terminal: whose object it is, what was refused, where to go."""

import json
from datetime import datetime
from typing import Final

from glasswarden.kube.diff import ABSENT, Change
from glasswarden.kube.owners import Owner
from glasswarden.policy.advice import COMMAND, advice
from glasswarden.policy.breakglass import names
from glasswarden.policy.breakglass.moment import moment
from glasswarden.policy.breakglass.rules import is_namespace
from glasswarden.policy.decision import Clause
from glasswarden.policy.granting import grant_use
from glasswarden.policy.holding import deletion_hold
from glasswarden.policy.mode import Mode
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Operation, Write

ENGINE_NAMES: Final = {
    "argocd": "Argo CD",
    "configsync": "Config Sync",
    "fleet": "Fleet",
    "flux": "Flux",
    "helm": "Helm",
    "kapp": "kapp",
    "pulumi": "Pulumi",
    "sveltos": "Sveltos",
}

MOST_FIELDS: Final = 6
"""More lines than these push the rest of the message off the screen."""

LONGEST_VALUE: Final = 40

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode
"""As `json.dumps`, which makes an encoder for each value."""

LONGEST_LINE: Final = 240
"""The API server cuts a warning at 256 characters."""


def denial(write: Write, policy: Policy, clause: Clause, now: datetime) -> str:
    """Return why *write* was refused, for the person who made it."""
    lines = _lines(write, policy, clause, "is refused", now)
    # A command that is cut cannot be copied; nobody bounds a denial but its readers' patience.
    return "\n".join(printable(each) if each.startswith(COMMAND) else tidy(each) for each in lines)


def claim_of(write: Write, policy: Policy, clause: Clause, now: datetime) -> str:
    """Return why *write* was refused without what it changes, for whoever else is told."""
    on_hold = _on_hold(write, policy, "", now) if clause is Clause.HELD else []
    return tidy(on_hold[0] if on_hold else f"{_claim(write, clause)}.")


def hitch_of(write: Write, policy: Policy, clause: Clause, now: datetime) -> str:
    """Return why no grant lets *write* pass, where somebody asked for one or has one."""
    if clause in {Clause.HELD, Clause.MARKS}:
        return ""
    why = grant_use(write, policy, now)
    return tidy(f"{why}.") if isinstance(why, str) and why else ""


def forgery_told(write: Write, why: str) -> str:
    """Return why a stamp is not stored."""
    return tidy(f"{write.target} is not written: {why}. Stamps are Glasswarden's alone to write.")


def warning(
    write: Write, policy: Policy, clause: Clause, mode: Mode, now: datetime
) -> tuple[str, ...]:
    """Return what *write* met or would have met, a warning a line.

    The API server drops a warning that holds a line break.
    """
    verdict = "would be refused" if mode is Mode.ENFORCE else "is recorded"
    return tuple(map(tidy, _lines(write, policy, clause, verdict, now)))


def _lines(write: Write, policy: Policy, clause: Clause, verdict: str, now: datetime) -> list[str]:
    if clause is Clause.HELD:
        return _on_hold(write, policy, verdict, now)
    lines = [f"{_claim(write, clause)}; this {_act(write)} {verdict}."]
    lines += _changed(write, policy)
    if policy.guards(write):
        lines.append(_instead(write))
    if clause is not Clause.MARKS:
        lines += advice(write, policy, now)
    return lines


def _on_hold(write: Write, policy: Policy, verdict: str, now: datetime) -> list[str]:
    """Return until when and why a reconciler's deletion has to wait."""
    grant = deletion_hold(write, policy, now)
    if grant is None:
        return []
    until = moment(grant.expires)
    owner = _application(write.owner) if write.owner else "its reconciler"
    on = write.glass.namespace if grant.namespace else write.glass.before
    reason = on.get(names.REASON)
    return [
        f"{write.target} is held until {until}: {grant.actor} broke the glass for {grant.ticket}"
        + (f" ({reason})" if reason else "")
        + ".",
        f"Its deletion by {owner} {verdict} while the grant lives; whoever closes it lets it pass.",
    ]


def _claim(write: Write, clause: Clause) -> str:
    """Return, in half a sentence, why GitOps has a say in it."""
    subject = write.target
    if write.owner is None and is_namespace(subject) and write.operation is Operation.DELETE:
        return f"namespace {subject.name} is reserved for GitOps, with all that is in it"
    if write.owner is None and is_namespace(subject):
        return f"{subject} can have a grant for all that is in it"
    if write.owner is None:
        return f"namespace {write.target.namespace} is reserved for GitOps"
    if write.steers:
        return f"{subject} tells {_engine(write.owner)} what to do"
    application = _application(write.owner)
    if clause is Clause.MARKS and write.operation is Operation.CREATE:
        return f"{subject} claims to be managed by {application}, which did not make it"
    if clause is Clause.MARKS:
        return f"the marks on {subject} are for {application} to change"
    return f"{subject} is managed by {application}"


def _act(write: Write) -> str:
    return {Operation.CREATE: "creation", Operation.DELETE: "deletion"}.get(
        write.operation, "direct write"
    )


def _instead(write: Write) -> str:
    if write.source is not None:
        path = f", path {write.source.path}" if write.source.path else ""
        revision = f" at {write.source.revision}" if write.source.revision else ""
        return f"Change it in {write.source.repository}{revision}{path} instead."
    if write.owner is None or write.steers:
        return "Change it in Git instead."
    return "Change it in the Git repository of that application instead."


def _engine(owner: Owner) -> str:
    return ENGINE_NAMES.get(owner.engine, owner.engine)


def _application(owner: Owner) -> str:
    name = f"{owner.namespace}/{owner.app}" if owner.namespace else owner.app
    return " ".join(part for part in (_engine(owner), owner.kind, name) if part)


def _changed(write: Write, policy: Policy) -> list[str]:
    lines = [f"  {_line(write, change, policy)}" for change in write.changes[:MOST_FIELDS]]
    if len(write.changes) > MOST_FIELDS:
        lines.append(f"  … and {len(write.changes) - MOST_FIELDS} more")
    return lines


def _line(write: Write, change: Change, policy: Policy) -> str:
    if policy.hides(write.target, change):
        return f"{change.path}: (hidden)"
    return f"{change.path}: {_value(change.old)} → {_value(change.new)}"


def _value(value: object) -> str:
    if value is ABSENT:
        return "(none)"
    text = _encode(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def tidy(line: str) -> str:
    """Return *line* cut to length, without what a terminal would obey."""
    text = printable(line)
    return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"


def printable(line: str) -> str:
    """Return *line* without what a terminal would obey: keys are anybody's text."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
