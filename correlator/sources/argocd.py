"""Argo CD: what its Applications say about themselves.

Their status names objects that differ but no fields, and no time; the fields are the detector's.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from correlator.finding import Finding, parse_time
from correlator.sources.patience import AT_WORK, COMPARED
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object, annotations_of, ref_of
from glasswarden.kube.owners import Owner
from glasswarden.kube.paths import Path, Select, path_of

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
        said = f"{AT_WORK}nothing was compared since {status['reconciledAt']}"
        yield _finding(obj, owner, COMPARED, ABSENT, said, compared)
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
        said = f"{operation['phase']}: {operation.get('message', '')}"
        since = parse_time(str(operation.get("finishedAt", "")))
        yield _finding(obj, owner, _PHASE, "Succeeded", said, since)
    elif operation.get("phase") in _BUSY:
        said = f"{AT_WORK}{operation['phase']}: {operation.get('message', '')}"
        since = parse_time(str(operation.get("startedAt", "")))
        yield _finding(obj, owner, _PHASE, "Succeeded", said, since)


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
