"""Flux: the status of its Kustomizations and HelmReleases.

A cluster without drift proves nothing while its reconciler is stopped, so that is a finding.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from correlator.attribution.evidence import last_write_time
from correlator.finding import Finding, parse_time
from correlator.sources.grace_period import AT_WORK, OBSERVED
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.managed_fields import entries_of
from glasswarden.kube.objects import Object, Ref, metadata_of, ref_of
from glasswarden.kube.paths import Path, Select, path_of

SOURCE: Final = "flux"

_PARTS: Final = 4
_SOURCE_GROUP: Final = "source.toolkit.fluxcd.io"
_SOURCES: Final = frozenset(
    {"Bucket", "GitRepository", "HelmChart", "HelmRepository", "OCIRepository"}
)


def flux_findings(obj: Object, owner: Owner) -> Iterator[Finding]:
    """Yield what keeps *obj*, the reconciler's own object, from following Git."""
    status, spec = _map(obj, "status"), _map(obj, "spec")
    if spec.get("suspend") is True:
        yield _finding(obj, owner, path_of("spec", "suspend"), ABSENT, True)
    attempted, applied = (_revision(status, name) for name in ("Attempted", "Applied"))
    if attempted and applied and attempted != applied:
        yield _finding(obj, owner, path_of("status", "lastAppliedRevision"), attempted, applied)
    generation = metadata_of(obj).get("generation")
    observed = status.get("observedGeneration")
    if isinstance(observed, int) and isinstance(generation, int) and observed < generation:
        written = last_write_time([entry for entry in entries_of(obj) if not entry.subresource])
        reason = f"{AT_WORK}{observed}" if written else str(observed)
        yield _finding(obj, owner, OBSERVED, str(generation), reason, written)
    for condition in _list(status, "conditions"):
        yield from _of_condition(obj, owner, condition)


def source_of(obj: Object) -> Ref | None:
    """Return where *obj*, a Kustomization or HelmRelease, has what it applies from."""
    spec = _map(obj, "spec")
    chart = _map(_map(spec, "chart"), "spec")
    found = _map(spec, "sourceRef") or _map(spec, "chartRef") or _map(chart, "sourceRef")
    kind, name = found.get("kind"), found.get("name")
    if kind not in _SOURCES or not isinstance(name, str):
        return None
    namespace = found.get("namespace") or ref_of(obj).namespace
    return Ref(_SOURCE_GROUP, "v1", str(kind), str(namespace), name)


def applied_by(obj: Object) -> str:
    """Return the revision that *obj* applied last, empty where it has applied none."""
    return _revision(_map(obj, "status"), "Applied")


def inventory_of(obj: Object) -> frozenset[tuple[str, str, str, str]]:
    """Return what Flux has applied: group, kind, namespace and name of each object.

    An id is `<namespace>_<name>_<group>_<kind>`; a colon in a name is written as two underscores
    (`ParseObjMetadata` in cli-utils).
    """
    found = set()
    for entry in _list(_map(_map(obj, "status"), "inventory"), "entries"):
        namespace, _, rest = str(entry.get("id", "")).partition("_")
        parts = rest.rsplit("_", _PARTS - 2)
        if len(parts) == _PARTS - 1:
            name, group, kind = parts
            found.add((group, kind, namespace, name.replace("__", ":")))
    return frozenset(found)


def _of_condition(obj: Object, owner: Owner, condition: Object) -> Iterator[Finding]:
    kind, status = condition.get("type"), condition.get("status")
    reason = f"{condition.get('reason', '')}: {condition.get('message', '')}"
    path = path_of("status", "conditions", Select((("type", str(kind)),)))
    since = parse_time(str(condition.get("lastTransitionTime", "")))
    if kind == "Ready" and status == "Unknown":
        # It is at work; whether for too long is decided where the time is known.
        yield _finding(
            obj, owner, path, "True", f"{AT_WORK}neither ready nor failed: {reason}", since
        )
    elif kind == "Ready" and status == "False":
        yield _finding(obj, owner, path, "True", reason, since)
    elif kind in ("Stalled", "Drifted") and status == "True":
        yield _finding(obj, owner, path, "False", reason, since)


def _finding(
    obj: Object,
    owner: Owner,
    path: Path,
    declared: Any,  # noqa: ANN401 - any JSON value
    live: Any,  # noqa: ANN401 - any JSON value
    since: datetime | None = None,
) -> Finding:
    ref: Ref = ref_of(obj)
    return Finding(ref, path, declared, live, since, SOURCE, owner=owner)


def _revision(status: Object, name: str) -> str:
    value = status.get(f"last{name}Revision")
    return value if isinstance(value, str) else ""


def _map(obj: Object, key: str) -> Object:
    value = obj.get(key)
    return value if isinstance(value, dict) else {}


def _list(obj: Object, key: str) -> list[Object]:
    value = obj.get(key)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
