"""Helm: the value that a field comes from, found by trying.

A template can do anything with a value, so none is taken for the origin because it looks alike:
that only says which ones to try first. Rendering tells.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from correlator.backport.edit import Location, Steps, found_at, rewritten, value_of, with_value
from correlator.backport.errors import CannotEdit, CannotPlace
from correlator.backport.model import Candidate, Candidates, Refused, Tree, Wanted, joined
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


def chart_candidates(tree: Tree, chart: Chart, wanted: Wanted, declared: Object) -> Candidates:
    """Yield *chart* with values that could give the field as it is live."""
    if wanted.is_deletion:
        yield Refused(chart.folder or ".", "a template of the chart makes it")
        return
    layers = _layers(tree, chart)
    effective = _effective(tree, chart, layers)
    for at, value in islice(_tries(effective, wanted, declared), MOST_TRIES):
        where = ".".join(map(str, at[0]))
        try:
            edited, path = _edited(tree, layers, effective, at, value)
        except (CannotEdit, CannotPlace) as error:
            yield Refused(where, str(error))
            continue
        yield Candidate(edited, f"{path}, {where}")


def _layers(tree: Tree, chart: Chart) -> list[Layer]:
    found = []
    for path in (joined(chart.folder, "values.yaml"), *chart.values):
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


def _effective(tree: Tree, chart: Chart, layers: list[Layer]) -> dict[str, Any]:
    """Return the values as the templates see them, those of subcharts below their names."""
    effective: dict[str, Any] = {}
    below = joined(chart.folder, "charts")
    for path in tree.files_below(below):
        name, _, file = path.removeprefix(f"{below}/").partition("/")
        if file == "values.yaml":
            effective[name] = next(
                iter(_layers(tree, Chart(joined(below, name)))), Layer("", 0, {})
            ).says
    for layer in layers:
        effective = _merged(effective, layer.says)
    return effective


def _merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        known = merged.get(key)
        both = isinstance(known, dict) and isinstance(value, dict)
        merged[key] = _merged(known, value) if both else value  # type: ignore[arg-type]
    return merged


def _tries(
    effective: dict[str, Any], wanted: Wanted, declared: Object
) -> Iterator[tuple[tuple[Location, ...], tuple[Value, ...]]]:
    """Yield which values to set to what, the likeliest first; more than one go together."""
    yield from _scalar_tries(effective, wanted, declared)
    yield from _pair_tries(effective, wanted, declared)
    yield from _part_tries(effective, wanted, declared)


def _scalar_tries(
    effective: dict[str, Any], wanted: Wanted, declared: Object
) -> Iterator[tuple[tuple[Location, ...], tuple[Value, ...]]]:
    """Yield values whose text is the field's, or a part of it."""
    had, has = found_at(declared, wanted.steps), wanted.value
    if _is_no_scalar(had) or _is_no_scalar(has):
        return
    before, after, name = _text(had), _text(has), _name(wanted.steps)

    def likelihood(leaf: _Leaf) -> tuple[bool, bool, int]:
        return _text(leaf[1]) == before, leaf[0][-1] == name, len(_text(leaf[1]))

    for at, value in sorted(_leaves(effective), key=likelihood, reverse=True):
        text = _text(value)
        head, found, tail = before.partition(text) if text else ("", "", "")
        if found and after.startswith(head) and after.endswith(tail):
            middle = after[len(head) : len(after) - len(tail)]
            if len(head) + len(tail) <= len(after):
                yield (at,), (_typed(middle, value, has),)


def _pair_tries(
    effective: dict[str, Any], wanted: Wanted, declared: Object
) -> Iterator[tuple[tuple[Location, ...], tuple[Value, ...]]]:
    """Yield pairs that make an image's name, where both parts of it changed."""
    had, has = found_at(declared, wanted.steps), wanted.value
    if not isinstance(had, str) or not isinstance(has, str):
        return
    leaves = [(at, _text(value)) for at, value in _leaves(effective)]
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


def _part_tries(
    effective: dict[str, Any], wanted: Wanted, declared: Object
) -> Iterator[tuple[tuple[Location, ...], tuple[Value, ...]]]:
    """Yield maps and lists that are passed on whole, with the field set inside of them."""
    steps = wanted.steps
    for depth in range(len(steps), 0, -1):
        around = found_at(declared, steps[:depth])
        live = found_at(wanted.live or {}, steps[:depth])
        for at, value in _collections(effective):
            if not _passes_on(value, around, at[-1], steps[depth - 1]):
                continue
            start = ABSENT if value is None or not value else value
            try:
                yield (at,), (with_value(start, steps[depth:], wanted.value, live),)
            except CannotPlace:
                continue


def _passes_on(value: Any, around: Value, name: str | int, step: object) -> bool:  # noqa: ANN401
    """Tell whether *around*, below *step*, may be *value* as a template passed it on."""
    if not value:
        return isinstance(step, Key) and step.name == name
    if isinstance(value, dict) and isinstance(around, dict):
        return all(key in around and is_identical(each, around[key]) for key, each in value.items())
    return isinstance(around, list) and is_identical(value, around)


def _edited(
    tree: Tree,
    layers: list[Layer],
    effective: dict[str, Any],
    at: tuple[Location, ...],
    values: tuple[Value, ...],
) -> tuple[Tree, str]:
    """Return the tree with *values* at the places *at*, and the file that says so now."""
    if not layers:
        raise CannotPlace("the chart has no file with values in the repository")
    layer = _target(layers, at[0])
    says = layer.says
    for place, value in zip(at, values, strict=True):
        says = _with_place(says, effective, place, value, is_only=layer is layers[0])
    return tree.edited(
        layer.path, rewritten(tree.text(layer.path), layer.document, says)
    ), layer.path


def _target(layers: list[Layer], at: Location) -> Layer:
    """Return the file to change: the last one, which wins; the chart's own if there is no other."""
    own, *given = layers
    for layer in reversed(given):
        if _get(layer.says, at) is not ABSENT:
            return layer
    return given[-1] if given else own


def _with_place(
    says: dict[str, Any], effective: dict[str, Any], at: Location, value: Value, *, is_only: bool
) -> dict[str, Any]:
    """Return *says* with *value* at *at*; a list that it lacks is taken over whole."""
    depth = next((i for i, step in enumerate(at) if isinstance(step, int)), len(at))
    if depth < len(at) and _get(says, at) is ABSENT:
        whole = with_value(_get(effective, at[:depth]), _steps(at[depth:]), value)
        return dict(with_value(says, _steps(at[:depth]), whole))
    # Helm takes null for "without the value of the chart".
    gone = None if value is ABSENT and not is_only else value
    return dict(with_value(says, _steps(at), gone))


def _steps(at: Location) -> Steps:
    return tuple(Key(each) if isinstance(each, str) else Index(each) for each in at)


def _get(value: Value, at: Location) -> Value:
    return found_at(value, _steps(at))


def _leaves(value: Any, at: Location = ()) -> Iterator[_Leaf]:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict | list):
        for key, each in _parts(value):
            yield from _leaves(each, (*at, key))
    elif value is not None and at:
        yield at, value


def _collections(value: Any, at: Location = ()) -> Iterator[_Leaf]:  # noqa: ANN401
    """Yield maps, lists and nulls, outer ones first."""
    if at and (value is None or isinstance(value, dict | list)):
        yield at, value
    if isinstance(value, dict | list):
        for key, each in _parts(value):
            yield from _collections(each, (*at, key))


def _parts(value: dict[str, Any] | list[Any]) -> list[tuple[str | int, Any]]:
    return list(value.items() if isinstance(value, dict) else enumerate(value))


def _is_no_scalar(value: Value) -> bool:
    return value is ABSENT or value is None or isinstance(value, dict | list)


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON scalar
    """Return *value* as a template prints it."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _typed(text: str, old: Any, new: Any) -> Any:  # noqa: ANN401 - any JSON scalars
    """Return *text* as a value of the type that *old* has, where it can be."""
    if isinstance(old, str) or not text:
        return text
    return new if type(new) is type(old) else scalar_of(text)


def _name(steps: Steps) -> str:
    return steps[-1].name if isinstance(steps[-1], Key) else ""
