"""Argo CD: the status of its Applications, and its own comparison of their objects.

The status names objects that differ, but no fields and no time. What Argo CD's API calls managed
resources has each object as it is live and as it would be after a sync, both normalised: fields in
`ignoreDifferences` are in neither. So every difference is one that Argo CD reports.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from correlator.finding import Finding, Incomplete, latest_of, parse_time
from correlator.sources.grace_period import AT_WORK, COMPARED
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import find_changes, remove_noise
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.managed_fields import entries_of, owners_at, remove_fields
from glasswarden.kube.objects import Object, Ref, annotations_of, generation_of, ref_of
from glasswarden.kube.paths import ROOT, Path, Select, path_of

SOURCE: Final = "argocd"

_SKIP: Final = "argocd.argoproj.io/skip-reconcile"
_FAILED: Final = frozenset({"Failed", "Error"})
_BUSY: Final = frozenset({"Running", "Terminating"})
_PHASE: Final = path_of("status", "operationState", "phase")


def argocd_findings(obj: Object, owner: Owner) -> Iterator[Finding]:
    """Yield what keeps *obj*, an Application, from following Git."""
    if annotations_of(obj).get(_SKIP) == "true":
        yield _finding(obj, owner, path_of("metadata", "annotations", _SKIP), ABSENT, "true")
    status = _map(obj, "status")
    sync = _map(status, "sync")
    if sync.get("status") == "Unknown":
        yield _finding(obj, owner, path_of("status", "sync", "status"), "Synced", "Unknown")
    if (compared := parse_time(str(status.get("reconciledAt", "")))) is not None:
        reason = f"{AT_WORK}nothing was compared since {status['reconciledAt']}"
        yield _finding(obj, owner, COMPARED, ABSENT, reason, compared)
    yield from _of_operation(obj, owner, _map(status, "operationState"))
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else []:
        kind = str(_map({"it": condition}, "it").get("type", ""))
        if kind.endswith("Error"):
            path = path_of("status", "conditions", Select((("type", kind),)))
            since = parse_time(str(condition.get("lastTransitionTime", "")))
            yield _finding(obj, owner, path, ABSENT, str(condition.get("message", "")), since)


def _of_operation(obj: Object, owner: Owner, operation: Object) -> Iterator[Finding]:
    if operation.get("phase") in _FAILED:
        reason = f"{operation['phase']}: {operation.get('message', '')}"
        since = parse_time(str(operation.get("finishedAt", "")))
        yield _finding(obj, owner, _PHASE, "Succeeded", reason, since)
    elif operation.get("phase") in _BUSY:
        reason = f"{AT_WORK}{operation['phase']}: {operation.get('message', '')}"
        since = parse_time(str(operation.get("startedAt", "")))
        yield _finding(obj, owner, _PHASE, "Succeeded", reason, since)


def applied_by(obj: Object) -> str:
    """Return the revision that *obj*, an Application, applied last; empty where it did none."""
    history = _map(obj, "status").get("history")
    last = history[-1] if isinstance(history, list) and history else {}
    found = last.get("revision") if isinstance(last, dict) else ""
    return found if isinstance(found, str) else ""


def _finding(
    obj: Object,
    owner: Owner,
    path: Path,
    declared: Any,  # noqa: ANN401 - any JSON value
    live: Any,  # noqa: ANN401 - any JSON value
    since: datetime | None = None,
) -> Finding:
    return Finding(ref_of(obj), path, declared, live, since, SOURCE, owner=owner)


def _map(obj: Object, key: str) -> Object:
    value = obj.get(key)
    return value if isinstance(value, dict) else {}


API_SOURCE: Final = "argocd-api"


def findings_in(item: Mapping[str, Any], owner: Owner) -> Iterator[Finding | Incomplete]:
    """Yield where the object that *item* is about is not as *owner*, an Application, wants it."""
    if item.get("hook") is True:
        return  # made around a sync, it lives as long as it is to
    try:
        live = _state(item, "normalizedLiveState")
        wanted = _state(item, "predictedLiveState")
        target = _state(item, "targetState")
    except ValueError:
        what = f"{item.get('kind')} {item.get('namespace', '')}/{item.get('name')} of {owner.app}"
        yield Incomplete(what, "what Argo CD tells of it cannot be read")
        return
    if live is None and target is None:
        return
    if live is None:
        yield _of_object(_ref(item, target or {}), remove_noise(target or {}), ABSENT, owner)
    elif target is None:
        metadata = {"metadata": remove_noise(live).get("metadata", {})}
        yield _of_object(_ref(item, live), ABSENT, metadata, owner)
    elif wanted is not None:
        yield from _fields(_state(item, "liveState") or live, live, wanted, owner)


def _fields(live: Object, normalised: Object, wanted: Object, owner: Owner) -> Iterator[Finding]:
    entries = entries_of(live)
    for change in find_changes(normalised, wanted):
        holders = owners_at(entries, change.path) if change.old is not ABSENT else ()
        yield Finding(
            ref_of(live),
            change.path,
            change.new,
            change.old,
            latest_of(holders),
            API_SOURCE,
            owner=owner,
            holders=tuple(map(remove_fields, holders)),
            entries=tuple(map(remove_fields, entries)),
            generation=generation_of(live),
        )


def _of_object(ref: Ref, declared: Any, live: Any, owner: Owner) -> Finding:  # noqa: ANN401
    return Finding(ref, ROOT, declared, live, None, API_SOURCE, owner=owner)


def _ref(item: Mapping[str, Any], obj: Object) -> Ref:
    found = ref_of(obj)
    namespace = found.namespace or str(item.get("namespace", ""))
    return Ref(found.group, found.version, found.kind, namespace, found.name, found.uid)


def _state(item: Mapping[str, Any], name: str) -> Object | None:
    """Return the object that stands there as JSON; `ValueError` for anything else."""
    found = json.loads(str(item.get(name) or "null"))
    if found is not None and not isinstance(found, dict):
        raise ValueError(name)
    return found
