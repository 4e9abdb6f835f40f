"""Argo CD's own comparison, object by object: what its API calls managed resources.

Each comes as it is live and as it would be after a sync, both normalised: what `ignoreDifferences`
names is out of both. So every difference is one that Argo CD means.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from correlator.finding import Finding, Incomplete, latest_of
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import changes
from glasswarden.kube.managed import entries_of, owners_at, without_fields
from glasswarden.kube.noise import without_noise
from glasswarden.kube.objects import Object, Ref, generation_of, ref_of
from glasswarden.kube.owners import Owner
from glasswarden.kube.paths import ROOT

SOURCE: Final = "argocd-api"


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
        yield _of_object(_ref(item, target or {}), without_noise(target or {}), ABSENT, owner)
    elif target is None:
        metadata = {"metadata": without_noise(live).get("metadata", {})}
        yield _of_object(_ref(item, live), ABSENT, metadata, owner)
    elif wanted is not None:
        yield from _fields(_state(item, "liveState") or live, live, wanted, owner)


def _fields(live: Object, normalised: Object, wanted: Object, owner: Owner) -> Iterator[Finding]:
    entries = entries_of(live)
    for change in changes(normalised, wanted):
        holders = owners_at(entries, change.path) if change.old is not ABSENT else ()
        yield Finding(
            ref_of(live),
            change.path,
            change.new,
            change.old,
            latest_of(holders),
            SOURCE,
            owner=owner,
            holders=tuple(map(without_fields, holders)),
            entries=tuple(map(without_fields, entries)),
            generation=generation_of(live),
        )


def _of_object(ref: Ref, declared: Any, live: Any, owner: Owner) -> Finding:  # noqa: ANN401
    return Finding(ref, ROOT, declared, live, None, SOURCE, owner=owner)


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
