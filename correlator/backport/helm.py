"""Helm: finds the chart value that a field comes from, by trying.

A template can do anything with a value, so similarity does not prove the origin: it only decides
which values are tried first. Rendering decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from correlator.backport.edit import (
    Location,
    Steps,
    found_at,
    rewrite_document,
    set_value,
    value_of,
)
from correlator.backport.errors import CannotEdit, CannotPlace
from correlator.backport.model import Candidate, Candidates, Rejected, Tree, Wanted, join_paths
from correlator.backport.yaml_text import pieces_of
from correlator.declared.yaml_values import scalar_of
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.equality import is_identical
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import Index, Key

MOST_TRIES: Final = 40
"""How many values are tried for one field: each costs a rendering."""

_Leaf = tuple[Location, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, and the files with values that it is installed with."""

    folder: str
    values: tuple[str, ...] = ()
    """From the repository's root; later ones win."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One file of values."""

    path: str
    document: int
    says: dict[str, Any]


def find_chart_candidates(tree: Tree, chart: Chart, wanted: Wanted, declared: Object) -> Candidates:
    """Yield *chart* with values that could give the field as it is live."""
    if wanted.is_deletion:
        yield Rejected(chart.folder or ".", "a template of the chart makes it")
        return
    layers = _layers_of(tree, chart)
    effective = _merge_layers(tree, chart, layers)
    for at, value in islice(_find_tries(effective, wanted, declared), MOST_TRIES):
        where = ".".join(map(str, at[0]))
        try:
            edited, path = _edit_layers(tree, layers, effective, at, value)
        except (CannotEdit, CannotPlace) as error:
            yield Rejected(where, str(error))
            continue
        yield Candidate(edited, f"{path}, {where}")


def _layers_of(tree: Tree, chart: Chart) -> list[Layer]:
    found = []
    for path in (join_paths(chart.folder, "values.yaml"), *chart.values):
        text = tree.read(path)
        for index, piece in enumerate(pieces_of(text or "")):
            try:
                says = value_of(piece)
            except CannotEdit:
                continue
            if isinstance(says, dict):
                found.append(Layer(path, index, says))
                break
    return found


def _merge_layers(tree: Tree, chart: Chart, layers: list[Layer]) -> dict[str, Any]:
    """Return the values as the templates see them, those of subcharts below their names."""
    effective: dict[str, Any] = {}
    below = join_paths(chart.folder, "charts")
    for path in tree.files_below(below):
        name, _, file = path.removeprefix(f"{below}/").partition("/")
        if file == "values.yaml":
            effective[name] = next(
                iter(_layers_of(tree, Chart(join_paths(below, name)))), Layer("", 0, {})
            ).says
    for layer in layers:
        effective = _merge(effective, layer.says)
    return effective


def _merge(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        known = merged.get(key)
        both = isinstance(known, dict) and isinstance(value, dict)
        merged[key] = _merge(known, value) if both else value  # type: ignore[arg-type]
    return merged


def _find_tries(
    effective: dict[str, Any], wanted: Wanted, declared: Object
) -> Iterator[tuple[tuple[Location, ...], tuple[Value, ...]]]:
    """Yield which values to set to what, the likeliest first; more than one go together."""
    yield from _find_scalar_tries(effective, wanted, declared)
    yield from _find_pair_tries(effective, wanted, declared)
    yield from _find_part_tries(effective, wanted, declared)


def _find_scalar_tries(
    effective: dict[str, Any], wanted: Wanted, declared: Object
) -> Iterator[tuple[tuple[Location, ...], tuple[Value, ...]]]:
    """Yield values whose text is the field's, or a part of it."""
    had, has = found_at(declared, wanted.steps), wanted.value
    if _is_no_scalar(had) or _is_no_scalar(has):
        return
    before, after, name = _text_of(had), _text_of(has), _name_of(wanted.steps)

    def likelihood(leaf: _Leaf) -> tuple[bool, bool, int]:
        return _text_of(leaf[1]) == before, leaf[0][-1] == name, len(_text_of(leaf[1]))

    for at, value in sorted(_leaves_of(effective), key=likelihood, reverse=True):
        text = _text_of(value)
        head, found, tail = before.partition(text) if text else ("", "", "")
        if found and after.startswith(head) and after.endswith(tail):
            middle = after[len(head) : len(after) - len(tail)]
            if len(head) + len(tail) <= len(after):
                yield (at,), (_convert(middle, value, has),)


def _find_pair_tries(
    effective: dict[str, Any], wanted: Wanted, declared: Object
) -> Iterator[tuple[tuple[Location, ...], tuple[Value, ...]]]:
    """Yield pairs that make an image's name, where both parts of it changed."""
    had, has = found_at(declared, wanted.steps), wanted.value
    if not isinstance(had, str) or not isinstance(has, str):
        return
    leaves = [(at, _text_of(value)) for at, value in _leaves_of(effective)]
    for sign in (":", "@"):
        old, new = had.rpartition(sign), has.rpartition(sign)
        if not old[1] or not new[1]:
            continue
        for one, text in leaves:
            for other, end in leaves:
                if text and end and (old[0].endswith(text), end) == (True, old[2]) and one != other:
                    kept = old[0].removesuffix(text)
                    if new[0].startswith(kept):
                        yield (one, other), (new[0].removeprefix(kept), new[2])


def _find_part_tries(
    effective: dict[str, Any], wanted: Wanted, declared: Object
) -> Iterator[tuple[tuple[Location, ...], tuple[Value, ...]]]:
    """Yield maps and lists that are passed on whole, with the field set inside of them."""
    steps = wanted.steps
    for depth in range(len(steps), 0, -1):
        around = found_at(declared, steps[:depth])
        live = found_at(wanted.live or {}, steps[:depth])
        for at, value in _collections_of(effective):
            if not _passes_on(value, around, at[-1], steps[depth - 1]):
                continue
            start = ABSENT if value is None or not value else value
            try:
                yield (at,), (set_value(start, steps[depth:], wanted.value, live),)
            except CannotPlace:
                continue


def _passes_on(value: Any, around: Value, name: str | int, step: object) -> bool:  # noqa: ANN401
    """Return whether *around*, below *step*, may be *value* as a template passed it on."""
    if not value:
        return isinstance(step, Key) and step.name == name
    if isinstance(value, dict) and isinstance(around, dict):
        return all(key in around and is_identical(each, around[key]) for key, each in value.items())
    return isinstance(around, list) and is_identical(value, around)


def _edit_layers(
    tree: Tree,
    layers: list[Layer],
    effective: dict[str, Any],
    at: tuple[Location, ...],
    values: tuple[Value, ...],
) -> tuple[Tree, str]:
    """Return the tree with *values* at the places *at*, and the file that says so now."""
    if not layers:
        raise CannotPlace("the chart has no file with values in the repository")
    layer = _choose_layer(layers, at[0])
    says = layer.says
    for place, value in zip(at, values, strict=True):
        says = _set_location(says, effective, place, value, is_only=layer is layers[0])
    return tree.with_text(
        layer.path, rewrite_document(tree.read_text(layer.path), layer.document, says)
    ), layer.path


def _choose_layer(layers: list[Layer], at: Location) -> Layer:
    """Return the file to change: the last one, which wins; the chart's own if there is no other."""
    own, *given = layers
    for layer in reversed(given):
        if _get(layer.says, at) is not ABSENT:
            return layer
    return given[-1] if given else own


def _set_location(
    says: dict[str, Any], effective: dict[str, Any], at: Location, value: Value, *, is_only: bool
) -> dict[str, Any]:
    """Return *says* with *value* at *at*; a list that it lacks is taken over whole."""
    depth = next((i for i, step in enumerate(at) if isinstance(step, int)), len(at))
    if depth < len(at) and _get(says, at) is ABSENT:
        whole = set_value(_get(effective, at[:depth]), _steps_of(at[depth:]), value)
        return dict(set_value(says, _steps_of(at[:depth]), whole))
    # Helm takes null for "without the value of the chart".
    gone = None if value is ABSENT and not is_only else value
    return dict(set_value(says, _steps_of(at), gone))


def _steps_of(at: Location) -> Steps:
    return tuple(Key(each) if isinstance(each, str) else Index(each) for each in at)


def _get(value: Value, at: Location) -> Value:
    return found_at(value, _steps_of(at))


def _leaves_of(value: Any, at: Location = ()) -> Iterator[_Leaf]:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict | list):
        for key, each in _parts_of(value):
            yield from _leaves_of(each, (*at, key))
    elif value is not None and at:
        yield at, value


def _collections_of(value: Any, at: Location = ()) -> Iterator[_Leaf]:  # noqa: ANN401
    """Yield maps, lists and nulls, outer ones first."""
    if at and (value is None or isinstance(value, dict | list)):
        yield at, value
    if isinstance(value, dict | list):
        for key, each in _parts_of(value):
            yield from _collections_of(each, (*at, key))


def _parts_of(value: dict[str, Any] | list[Any]) -> list[tuple[str | int, Any]]:
    return list(value.items() if isinstance(value, dict) else enumerate(value))


def _is_no_scalar(value: Value) -> bool:
    return value is ABSENT or value is None or isinstance(value, dict | list)


def _text_of(value: Any) -> str:  # noqa: ANN401 - any JSON scalar
    """Return *value* as a template prints it."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _convert(text: str, old: Any, new: Any) -> Any:  # noqa: ANN401 - any JSON scalars
    """Return *text* as a value of the type that *old* has, where it can be."""
    if isinstance(old, str) or not text:
        return text
    return new if type(new) is type(old) else scalar_of(text)


def _name_of(steps: Steps) -> str:
    return steps[-1].name if isinstance(steps[-1], Key) else ""
