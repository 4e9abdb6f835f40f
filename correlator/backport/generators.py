"""What an overlay generates: ConfigMaps, and labels or annotations for all of its objects."""

from collections.abc import Iterator
from typing import Any, Final

from correlator.backport.candidate import Candidate, Candidates, Refused
from correlator.backport.errors import CannotEdit
from correlator.backport.kustomization import Kustomization
from correlator.backport.tree import Tree, joined
from correlator.backport.wanted import Wanted
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object
from glasswarden.kube.paths import Key

_GENERATOR: Final = "configMapGenerator"
_COMMON: Final = {"labels": "commonLabels", "annotations": "commonAnnotations"}


def generator_candidates(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield *owner* with a key of a generated ConfigMap as it is live."""
    key = _data_key(wanted)
    if key is None:
        return
    for position, entry in enumerate(owner.listed(_GENERATOR)):
        if not isinstance(entry, dict) or not is_generated(entry, wanted.ref.name):
            continue
        where = f"{owner.path}, {_GENERATOR}[{position}]"
        try:
            for tree, place in _entries(owner, position, entry, key, wanted.value):
                yield Candidate(tree, place or where)
        except CannotEdit as error:
            yield Refused(where, str(error))


def merging_generators(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield *owner* with a generator of its own that merges the key into a base's ConfigMap."""
    key = _data_key(wanted)
    if key is None or not isinstance(wanted.value, str) or "\n" in wanted.value:
        return
    name = wanted.ref.name.rpartition("-")[0]
    entry = {"name": name, "behavior": "merge", "literals": [f"{key}={wanted.value}"]}
    try:
        yield Candidate(
            owner.saying(_GENERATOR, [*owner.listed(_GENERATOR), entry]),
            f"{owner.path}, {_GENERATOR}",
        )
    except CannotEdit as error:
        yield Refused(owner.path, str(error))


def label_candidates(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield *owner* with a label or annotation that it puts on all of its objects."""
    match wanted.steps:
        case (Key("metadata"), Key("labels" | "annotations" as part), Key(name)):
            pass
        case _:
            return
    for key, value in _pairs(owner, _COMMON[part], part, name, wanted.value):
        try:
            yield Candidate(owner.saying(key, value), f"{owner.path}, {key}")
        except CannotEdit as error:
            yield Refused(f"{owner.path}, {key}", str(error))


def is_generated(entry: Object, name: str) -> bool:
    """Tell whether the generator *entry* makes what is called *name* when it is rendered."""
    own = entry.get("name")
    return isinstance(own, str) and bool(own) and own in name


def _data_key(wanted: Wanted) -> str | None:
    match wanted.steps:
        case (Key("data"), Key(key)) if wanted.ref.kind == "ConfigMap":
            return key
        case _:
            return None


def _entries(
    owner: Kustomization,
    position: int,
    entry: Object,
    key: str,
    value: Any,  # noqa: ANN401
) -> Iterator[tuple[Tree, str]]:
    """Yield the trees in which the generator gives *value* for *key*, and the file if it is one."""
    literals = _texts(entry, "literals")
    for i, literal in enumerate(literals):
        if literal.partition("=")[0] == key:
            new = [] if value is ABSENT else [f"{key}={value}"]
            changed = {**entry, "literals": [*literals[:i], *new, *literals[i + 1 :]]}
            yield owner.with_item(_GENERATOR, position, changed), ""
            return
    for file in _texts(entry, "files"):
        name, is_named, path = file.rpartition("=")
        if (name if is_named else path.rpartition("/")[2]) == key and isinstance(value, str):
            at = joined(owner.folder, path)
            yield owner.tree.edited(at, value), at
            return
    for file in (*_texts(entry, "envs"), *filter(None, [entry.get("env")])):
        at = joined(owner.folder, str(file))
        text = _with_variable(owner.tree.read(at) or "", key, value)
        if text is not None:
            yield owner.tree.edited(at, text), at
            return
    if isinstance(value, str) and "\n" not in value:
        changed = {**entry, "literals": [*literals, f"{key}={value}"]}
        yield owner.with_item(_GENERATOR, position, changed), ""


def _with_variable(text: str, key: str, value: Any) -> str | None:  # noqa: ANN401
    """Return *text*, lines of KEY=VALUE, with another value; nothing where it lacks the key."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line.lstrip().partition("=")[0] == key:
            ending = "\r" if line.endswith("\r") else ""
            lines[i : i + 1] = [] if value is ABSENT else [f"{key}={value}{ending}"]
            return "\n".join(lines)
    return None


def _pairs(
    owner: Kustomization,
    common: str,
    part: str,
    name: str,
    value: Any,  # noqa: ANN401
) -> Iterator[tuple[str, Any]]:
    found = owner.says.get(common)
    if isinstance(found, dict) and name in found:
        yield common, _with(found, name, value)
    for position, entry in enumerate(owner.listed("labels")):
        pairs = entry.get("pairs") if isinstance(entry, dict) else None
        if part == "labels" and isinstance(pairs, dict) and name in pairs:
            labels = list(owner.listed("labels"))
            labels[position] = {**entry, "pairs": _with(pairs, name, value)}
            yield "labels", labels


def _with(pairs: Object, name: str, value: Any) -> Object:  # noqa: ANN401 - any JSON value
    rest = {key: each for key, each in pairs.items() if key != name}
    return rest if value is ABSENT else {**pairs, name: value}


def _texts(entry: Object, key: str) -> list[str]:
    found = entry.get(key)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
