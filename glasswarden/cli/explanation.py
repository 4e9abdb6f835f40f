"""From a review to an explanation, and how that is shown: for people, and for programs."""

import json
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from glasswarden.keys.ring import Ring
from glasswarden.kube.diff import ABSENT, Change
from glasswarden.policy.decision import Decision
from glasswarden.policy.explain import Explanation, explain
from glasswarden.policy.policy import Policy
from glasswarden.policy.write import Write
from webhook.errors import ReviewMalformed
from webhook.review import parse_review
from webhook.writes import NO_KEYS, write_of


def explained(
    body: bytes, policy: Policy, parent: dict[str, Any] | None, ring: Ring = NO_KEYS
) -> Explanation:
    """Return the explanation of the verdict on the review in *body*."""
    try:
        request = parse_review(body)
        if request.sub_resource == "scale" and parent is None:
            raise click.ClickException(
                "a Scale does not say whose object it scales; give that object with --parent"
            )
        write = write_of(request, policy, parent, ring=ring)
    except ReviewMalformed as error:
        raise click.ClickException(str(error)) from error
    return explain(write, policy, datetime.now(UTC))


def explanation_as_json(explanation: Explanation, policy: Policy) -> dict[str, Any]:
    """Return *explanation* with the keys that scripts rely on."""
    decision, write = explanation.decision, explanation.write
    return {
        "verdict": decision.verdict,
        "mode": explanation.mode,
        "clause": decision.clause,
        "owner": _owner(write),
        "changes": [_change(write, change, policy) for change in write.changes],
        "message": decision.message,
        "warnings": list(decision.warnings),
        "grant": _grant(decision),
        "clauses": [
            {
                "clause": step.clause,
                "asked": step.asked,
                "applies": step.applies,
                "why": step.why,
            }
            for step in explanation.steps
        ],
    }


def explanation_as_text(explanation: Explanation, policy: Policy) -> str:
    """Return *explanation* for a terminal."""
    write, decision = explanation.write, explanation.decision
    lines = [
        f"object   {write.target}",
        f"writer   {write.actor.name}  manager {write.manager or '(unknown)'}",
        f"owner    {_owner_in_words(write)}",
        *_changes_in_words(write, policy),
        "",
        *(
            f"{'→' if step.applies else ' '} {step.clause:<11} {step.why}"
            for step in explanation.steps
        ),
        "",
        f"verdict  {decision.verdict} by {decision.clause} (mode here: {explanation.mode})",
    ]
    said = decision.message.splitlines() or decision.warnings
    return "\n".join([*lines, *(f"         {line}" for line in said)])


def _grant(decision: Decision) -> dict[str, Any] | None:
    """Return what the write did with a grant, if anything."""
    if decision.grant is None:
        return None
    found: dict[str, Any] = msgspec.to_builtins(decision.grant)
    return found


def _owner(write: Write) -> dict[str, str | None] | None:
    if write.owner is None:
        return None
    return {
        "engine": write.owner.engine,
        "app": write.owner.app,
        "namespace": write.owner.namespace,
    }


def _owner_in_words(write: Write) -> str:
    owner = write.owner
    if owner is None:
        return "nobody"
    place = f"{owner.namespace}/{owner.app}" if owner.namespace else owner.app
    steers = " (the engine's own object)" if write.steers else ""
    return f"{owner.engine} {owner.kind} {place}{steers}".replace("  ", " ")


def _changes_in_words(write: Write, policy: Policy) -> list[str]:
    if not write.changes:
        return [f"changes  {write.operation.lower()}"]
    texts = [_change_in_words(write, change, policy) for change in write.changes]
    return [f"changes  {texts[0]}", *(f"         {text}" for text in texts[1:])]


def _change_in_words(write: Write, change: Change, policy: Policy) -> str:
    if policy.hides(write.target, change):
        return f"{change.path}: (hidden)"
    old, new = (
        "(none)" if value is ABSENT else json.dumps(value, ensure_ascii=False)
        for value in (change.old, change.new)
    )
    return f"{change.path}: {old} → {new}"


def _change(write: Write, change: Change, policy: Policy) -> dict[str, Any]:
    """Return *change* as JSON, in which a value that was not there is null."""
    hidden = policy.hides(write.target, change)
    old, new = (
        None if value is ABSENT else "(hidden)" if hidden else value
        for value in (change.old, change.new)
    )
    return {"path": str(change.path), "old": old, "new": new, "manager": change.manager}
