"""Findings as the history keeps them: texts of bounded length."""

import json
from typing import Final

from correlator.finding import Finding
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.ledger.history.episode import Sighting

LONGEST: Final = 4096
"""Characters of a value; of a longer one the beginning is kept."""


def sighting_of(finding: Finding, source: str, team: str) -> Sighting:
    """Return *finding* as *source* tells it; it was linked and classified before."""
    ref, owner, verdict, link = finding.ref, finding.owner, finding.verdict, finding.link
    told = {
        "source": source,
        "team": team,
        "group": ref.group,
        "version": ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
        "field": str(finding.field),
        "declared": value_text(finding.declared),
        "live": value_text(finding.live),
        "class_": verdict.kind if verdict else "",
        "cause": verdict.cause if verdict else "",
        "response": verdict.response if verdict else "",
        "reason": verdict.reason if verdict else "",
        "revision": finding.revision,
        "engine": owner.engine if owner else "",
        "app": owner.app if owner else "",
        "app_namespace": (owner.namespace or "") if owner else "",
        "state": link.state if link else "",
        "record": link.records[0] if link and link.records else "",
        "actor": link.actor if link else "",
        "ticket": link.ticket if link else "",
        "confidence": link.confidence if link else "",
        "why": link.why if link else "",
    }
    return Sighting(**{name: _storable(text) for name, text in told.items()})


def value_text(value: Value) -> str:
    """Return *value* as JSON, no longer than is kept; empty for nothing."""
    if value is ABSENT:
        return ""
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _storable(text: str) -> str:
    # PostgreSQL's text can hold neither of them; enumerations become plain texts here.
    return str(text).replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
