"""The choice of a candidate: the first that renders to exactly what is live, or why none does.

Pure except for the rendering, which is passed in. A candidate counts only if the field has its live
value once the files are rendered again, and nothing else has changed, other than fields that are
wanted too and got their live values with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from correlator.backport.edit import found_at, location_of, set_value
from correlator.backport.errors import CannotPlace
from correlator.backport.helm import Chart, find_chart_candidates
from correlator.backport.kustomize import find_overlay_candidates
from correlator.backport.model import (
    Candidate,
    Candidates,
    Rejected,
    Tree,
    Wanted,
    find_declaring,
    folder_of,
)
from correlator.backport.plain import SUFFIXES, find_plain_candidates
from correlator.declared.errors import DeclaredUnreadable
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.equality import is_identical
from glasswarden.kube.objects import Object, Ref, ref_of

Render: TypeAlias = Callable[[Tree], Sequence[Object]]
"""Returns the objects that the files declare; raises `DeclaredUnreadable`."""

MOST_REASONS: Final = 3
_HASHED: Final = frozenset({"ConfigMap", "Secret"})


@dataclass(frozen=True, slots=True)
class Placed:
    """A field that Git declares now."""

    wanted: Wanted
    declared: Value
    """What Git declared before."""
    where: str


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A field that is left to somebody."""

    wanted: Wanted
    why: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The files as they should be, and what of it could not be done."""

    tree: Tree
    placed: tuple[Placed, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()
    already: tuple[Wanted, ...] = ()
    """What Git declares anyway."""


@dataclass(frozen=True, slots=True)
class RenderSource:
    """The folder that is rendered, and how."""

    folder: str
    values: tuple[str, ...] = ()
    prune: bool = False
    """Whether an object that was deleted is to go from Git too."""


def place_all(wanted: Sequence[Wanted], tree: Tree, place: RenderSource, render: Render) -> Outcome:
    """Return *tree* with *wanted* declared as far as that can be. Raises what *render* does."""
    rendered = Rendered(render(tree))
    placed: list[Placed] = []
    unplaced: list[Unplaced] = []
    already: list[Wanted] = []
    for each in wanted:
        declared = rendered.find(each.ref)
        try:
            if _is_so(declared, each):
                by_now = any(one.wanted.ref == each.ref for one in placed)
                already += [] if by_now and declared is None else [each]
                continue
            before = _reject_hopeless(declared, each, place)
            accepted, rendered = _find_exact(each, wanted, tree, place, rendered, render)
        except CannotPlace as error:
            unplaced.append(Unplaced(each, str(error)))
            continue
        tree = accepted.tree
        placed.append(Placed(each, found_at(before, each.steps), accepted.where))
    return Outcome(tree, tuple(placed), tuple(unplaced), tuple(already))


def _is_so(declared: Object | None, wanted: Wanted) -> bool:
    if wanted.is_deletion:
        return declared is None
    return declared is not None and _is_same(found_at(declared, wanted.steps), wanted.value)


def _reject_hopeless(declared: Object | None, wanted: Wanted, place: RenderSource) -> Object:
    """Return *declared*, or raise `CannotPlace` where nothing should even be tried."""
    if declared is None:
        raise CannotPlace(f"{place.folder or 'the repository'} does not declare {wanted.ref}")
    if wanted.is_deletion and not place.prune:
        raise CannotPlace("the object was deleted by hand; --prune deletes it from Git too")
    return declared


class Rendered:
    """What files declare."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self._objects = list(objects)
        self._refs = [ref_of(each) for each in objects]

    def find(self, ref: Ref) -> Object | None:
        """Return what declares *ref*, none where nothing does."""
        return find_declaring(ref, self._objects, self._refs)

    def index_by_name(self) -> dict[tuple[str, str, str, str], Object]:
        """Return the objects by group, kind, namespace and name."""
        pairs = zip(self._refs, self._objects, strict=True)
        return {(ref.group, ref.kind, ref.namespace, ref.name): each for ref, each in pairs}

    def rename(self, names: dict[str, str]) -> "Rendered":
        """Return the same with *names* changed wherever they stand."""
        return Rendered([_rename_in(each, names) for each in self._objects]) if names else self


def _find_exact(
    wanted: Wanted,
    everything: Sequence[Wanted],
    tree: Tree,
    place: RenderSource,
    before: Rendered,
    render: Render,
) -> tuple[Candidate, Rendered]:
    """Return the first candidate that renders to exactly what is wanted, and its rendering."""
    declared = before.find(wanted.ref) or {}
    reasons: list[str] = []
    for candidate in find_candidates(tree, place, wanted, declared):
        if isinstance(candidate, Rejected):
            reasons.append(f"{candidate.where}: {candidate.why}")
            continue
        try:
            after = Rendered(render(candidate.tree))
            _check(before, after, wanted, everything)
        except (DeclaredUnreadable, CannotPlace) as error:
            reasons.append(f"{candidate.where}: {error}")
            continue
        return candidate, after
    raise CannotPlace(
        "; ".join(list(dict.fromkeys(reasons))[:MOST_REASONS]) or _describe_nowhere(tree, place)
    )


def _describe_nowhere(tree: Tree, place: RenderSource) -> str:
    if tree.is_chart(place.folder):
        return "no value of the chart changes exactly this field; its template has to be changed"
    return "no file that could be edited declares the object"


def find_candidates(
    tree: Tree, place: RenderSource, wanted: Wanted, declared: Object
) -> Candidates:
    """Yield the places that could declare *wanted*, by what the folder is made for."""
    if tree.is_chart(place.folder):
        yield from find_chart_candidates(tree, Chart(place.folder, place.values), wanted, declared)
    elif tree.find_kustomization(place.folder):
        yield from find_overlay_candidates(tree, place.folder, wanted, declared)
    else:
        files, overlays = _split_overlays(tree, place.folder)
        yield from find_plain_candidates(tree, files, wanted)
        for overlay in overlays:
            yield from find_overlay_candidates(tree, overlay, wanted, declared)


def _split_overlays(tree: Tree, folder: str) -> tuple[list[str], list[str]]:
    """Return the manifests below *folder*, and the overlays in it, as `declared` reads them."""
    files: list[str] = []
    overlays: dict[str, None] = {}
    for path in tree.files_below(folder):
        inside = path.removeprefix(f"{folder}/") if folder else path
        if any(part.startswith(".") for part in inside.split("/")):
            continue
        special = _find_special_above(tree, path, folder)
        if special is None and path.endswith(SUFFIXES):
            files.append(path)
        elif special is not None and not tree.is_chart(special):
            overlays[special] = None
    return files, list(overlays)


def _find_special_above(tree: Tree, path: str, root: str) -> str | None:
    """Return the outermost chart or overlay between *root* and *path*."""
    found = None
    at = folder_of(path)
    while at != root:
        if tree.is_chart(at) or tree.find_kustomization(at):
            found = at
        at = folder_of(at)
    return found


def _check(before: Rendered, after: Rendered, wanted: Wanted, everything: Sequence[Wanted]) -> None:
    """Raise `CannotPlace` unless *after* is *before* with what is wanted, and nothing else."""
    names = _new_names(before, after)
    before = before.rename(names)
    named = [(_rename_ref(each.ref, names), each) for each in everything]
    own = after.find(_rename_ref(wanted.ref, names))
    if not _is_so(own, wanted):
        raise CannotPlace("what is rendered with it does not have the live value")
    olds, news = before.index_by_name(), after.index_by_name()
    for key in olds.keys() | news.keys():
        old, new = olds.get(key), news.get(key)
        about = [each for ref, each in named if _is_named(ref, key)]
        if old is None or new is None:
            if not any(each.is_deletion for each in about):
                raise CannotPlace(f"it would also add or remove {key[1]} {key[3]}")
        elif not is_identical(
            _strip_fields(old, about), _strip_fields(new, about)
        ) or not _has_only_wanted(old, new, about):
            raise CannotPlace(f"it would also change other fields of {key[1]} {key[3]}")


def _has_only_wanted(old: Object, new: Object, about: list[Wanted]) -> bool:
    """Return whether each field that somebody wants is as it was, or as it is wanted."""
    return all(
        _is_same(found := found_at(new, each.steps), each.value)
        or _is_same(found, found_at(old, each.steps))
        for each in about
    )


def _strip_fields(obj: Object, about: list[Wanted]) -> Value:
    """Return *obj* without the fields that *about* is about, and what is empty without them."""
    value: Value = obj
    for each in about:
        if not each.is_deletion and location_of(value, each.steps) is not None:
            value = set_value(value, each.steps, ABSENT)
    return _prune_empty(value)


def _prune_empty(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        kept = {key: _prune_empty(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each not in ({}, [], None)}
    if isinstance(value, list):
        return [_prune_empty(each) for each in value]
    return value


def _new_names(before: Rendered, after: Rendered) -> dict[str, str]:
    """Return the new names of objects that are named by a hash of what they hold."""
    olds, news = before.index_by_name(), after.index_by_name()
    names = {}
    for gone in olds.keys() - news.keys():
        stem = gone[3].rpartition("-")[0]
        for come in news.keys() - olds.keys():
            alike = gone[:3] == come[:3] and gone[1] in _HASHED
            if alike and stem and come[3].rpartition("-")[0] == stem:
                names[gone[3]] = come[3]
    return names


def _rename_in(value: Any, names: dict[str, str]) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {key: _rename_in(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_rename_in(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


def _rename_ref(ref: Ref, names: dict[str, str]) -> Ref:
    name = names.get(ref.name, ref.name) if ref.kind in _HASHED else ref.name
    return Ref(ref.group, ref.version, ref.kind, ref.namespace, name)


def _is_named(ref: Ref, key: tuple[str, str, str, str]) -> bool:
    group, kind, namespace, name = key
    return (ref.group, ref.kind, ref.name) == (group, kind, name) and namespace in (
        "",
        ref.namespace,
    )


def _is_same(one: Value, other: Value) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return is_identical(one, other)
