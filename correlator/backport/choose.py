"""From a report to the fields that are to be backported, and the reasons for those that are not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from correlator.backport.model import Wanted
from correlator.backport.place import Unplaced
from correlator.report.model import Change, Report, Subject, Write
from correlator.still_live import Answer, Lookup, NotKnown
from glasswarden.kube import diff
from glasswarden.kube.compare import ABSENT, value_at
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import ROOT, parse_path, path_of
from glasswarden.policy.policy import Policy

_RESTARTED: Final = path_of(
    "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"
)


@dataclass(frozen=True, slots=True)
class Selection:
    """What to write back."""

    wanted: tuple[Wanted, ...]
    unplaced: tuple[Unplaced, ...]
    """What cannot be, whatever the files look like."""
    gone: int
    """How many of the changed fields are no longer live."""


def chosen_of(report: Report, live: Lookup, policy: Policy) -> Selection:
    """Return what *report* says was changed, is live still, and may be written."""
    wanted: list[Wanted] = []
    unplaced: list[Unplaced] = []
    gone = 0
    for each in _keep_last(_select(report, live, policy)):
        if isinstance(each, Wanted):
            wanted.append(each)
        elif isinstance(each, Unplaced):
            unplaced.append(each)
        else:
            gone += 1
    return Selection(tuple(wanted), tuple(unplaced), gone)


def _keep_last(found: Iterator[Wanted | Unplaced | None]) -> list[Wanted | Unplaced | None]:
    """Return *found* with each field once: the last word on it counts."""
    by_field: dict[object, Wanted | Unplaced | None] = {}
    for number, each in enumerate(found):
        wanted = each.wanted if isinstance(each, Unplaced) else each
        key = number if wanted is None else (wanted.ref, wanted.path)
        by_field.pop(key, None)
        by_field[key] = each
    return list(by_field.values())


def _select(report: Report, live: Lookup, policy: Policy) -> Iterator[Wanted | Unplaced | None]:
    for write in report.admitted:
        if write.subresource == "status":
            continue
        if write.operation in {"DELETE", "CREATE"}:
            yield _select_object(write, live)
            continue
        for change in write.changes:
            if not change.superseded:
                yield _select_field(write, change, live, policy)
        if write.unlisted:
            more = f"{write.unlisted} more fields than a record lists were changed with it"
            yield Unplaced(_new(write, "/"), f"{more}: glasswarden drift shows them")


def _select_object(write: Write, live: Lookup) -> Wanted | Unplaced | None:
    """Return what to do about an object that was created or deleted by hand."""
    wanted = _new(write, "/")
    try:
        found = live(wanted.ref)
    except NotKnown:
        return Unplaced(wanted, "whether it is there could not be looked up in the cluster")
    if write.operation == "DELETE":
        return wanted if found is None else None
    if found is None:
        return None
    return Unplaced(
        wanted, "the object was created by hand: Git needs a manifest of its own for it"
    )


def _select_field(
    write: Write, change: Change, live: Lookup, policy: Policy
) -> Wanted | Unplaced | None:
    wanted = _new(write, change.path)
    if change.live is Answer.NO:
        return None
    if wanted.path == _RESTARTED:
        return None  # the pods are restarted; there is nothing to keep
    if policy.hides(wanted.ref, diff.Change(wanted.path, ABSENT, "")):
        return Unplaced(wanted, "its value is secret, and secrets are never written to Git")
    try:
        found = live(wanted.ref)
    except NotKnown:
        return Unplaced(wanted, "its live value could not be looked up in the cluster")
    if change.live is Answer.UNKNOWN or found is None:
        return Unplaced(wanted, "whether it is still as it was set cannot be told")
    return _new(write, change.path, found)


def _new(write: Write, path: str, live: Object | None = None) -> Wanted:
    field = parse_path(path)
    value = ABSENT if live is None or field == ROOT else value_at(live, field)
    return Wanted(
        _ref_of(write.subject),
        field,
        value,
        live,
        (write.records[-1],),
        write.actor,
        write.ticket,
    )


def _ref_of(subject: Subject) -> Ref:
    return Ref(subject.group, subject.version, subject.kind, subject.namespace, subject.name)


def namespace_of(wanted: Sequence[Wanted]) -> str:
    """Return the one namespace that all of *wanted* is in, nothing where there are several."""
    namespaces = {each.ref.namespace for each in wanted}
    return namespaces.pop() if len(namespaces) == 1 else ""
