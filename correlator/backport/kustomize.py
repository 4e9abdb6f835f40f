"""Kustomize: the candidates of an overlay, narrowest first.

Places where the overlay already declares the field come first, from the outermost kustomization
inwards, since an outer one takes precedence: patches, `images:`, `replicas:`, generators and common
labels. Then a patch for the object is extended, and last a new patch is added.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from correlator.backport.errors import CannotEdit
from correlator.backport.model import Candidate, Candidates, Rejected, Tree, Wanted, join_paths
from correlator.backport.patches import (
    Kustomization,
    extend_patch,
    find_declaring_patch,
    kustomizations_in,
    new_patches,
    original_name_of,
    patches_of,
)
from correlator.backport.plain import SUFFIXES, find_file_candidates
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object, Ref
from glasswarden.kube.paths import REPLICAS, Key

_IMAGE: Final = re.compile(
    r"(?P<name>.+?)(?::(?P<tag>[\w][\w.-]{0,127}))?(?:@(?P<digest>\w+:\w+))?"
)


@dataclass(frozen=True, slots=True)
class Image:
    """The parts of an image's name."""

    name: str
    tag: str
    digest: str


def parse_image(text: str) -> Image | None:
    """Return the parts of *text*, none where it is no image."""
    found = _IMAGE.fullmatch(text)
    if found is None:
        return None
    return Image(found["name"], found["tag"] or "", found["digest"] or "")


def find_image_candidates(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield *owner* with an entry of `images` that gives the live image."""
    if wanted.steps[-1:] != (Key("image"),) or not isinstance(wanted.value, str):
        return
    live = parse_image(wanted.value)
    for position, entry in enumerate(owner.list_of("images")):
        if live is not None and isinstance(entry, dict):
            yield from _try_entry(owner, "images", position, _name_image(entry, live))


def find_replica_candidates(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield *owner* with an entry of `replicas` that gives the live count."""
    if wanted.path != REPLICAS or not isinstance(wanted.value, int):
        return
    name = original_name_of(owner, wanted.ref.name)
    for position, entry in enumerate(owner.list_of("replicas")):
        if isinstance(entry, dict) and entry.get("name") in (name, wanted.ref.name):
            yield from _try_entry(owner, "replicas", position, {**entry, "count": wanted.value})


def _name_image(entry: Object, live: Image) -> Object:
    """Return *entry* giving *live*, with no more words than that needs."""
    parts = {"newTag": live.tag, "digest": live.digest}
    if live.name != entry.get("name") or "newName" in entry:
        parts["newName"] = live.name
    kept = {key: each for key, each in entry.items() if parts.get(key) != ""}
    return kept | {key: each for key, each in parts.items() if each}


def _try_entry(owner: Kustomization, key: str, position: int, entry: Any) -> Candidates:  # noqa: ANN401
    where = f"{owner.path}, {key}[{position}]"
    try:
        yield Candidate(owner.with_item(key, position, entry), where)
    except CannotEdit as error:
        yield Rejected(where, str(error))


_GENERATOR: Final = "configMapGenerator"
_COMMON: Final = {"labels": "commonLabels", "annotations": "commonAnnotations"}


def find_generator_candidates(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield *owner* with a key of a generated ConfigMap as it is live."""
    key = _data_key_of(wanted)
    if key is None:
        return
    for position, entry in enumerate(owner.list_of(_GENERATOR)):
        if not isinstance(entry, dict) or not is_generated(entry, wanted.ref.name):
            continue
        where = f"{owner.path}, {_GENERATOR}[{position}]"
        try:
            for tree, place in _edit_generator(owner, position, entry, key, wanted.value):
                yield Candidate(tree, place or where)
        except CannotEdit as error:
            yield Rejected(where, str(error))


def find_merging_generators(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield *owner* with a generator of its own that merges the key into a base's ConfigMap."""
    key = _data_key_of(wanted)
    if key is None or not isinstance(wanted.value, str) or "\n" in wanted.value:
        return
    name = wanted.ref.name.rpartition("-")[0]
    entry = {"name": name, "behavior": "merge", "literals": [f"{key}={wanted.value}"]}
    try:
        yield Candidate(
            owner.with_key(_GENERATOR, [*owner.list_of(_GENERATOR), entry]),
            f"{owner.path}, {_GENERATOR}",
        )
    except CannotEdit as error:
        yield Rejected(owner.path, str(error))


def find_label_candidates(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield *owner* with a label or annotation that it puts on all of its objects."""
    match wanted.steps:
        case (Key("metadata"), Key("labels" | "annotations" as part), Key(name)):
            pass
        case _:
            return
    for key, value in _edit_pairs(owner, _COMMON[part], part, name, wanted.value):
        try:
            yield Candidate(owner.with_key(key, value), f"{owner.path}, {key}")
        except CannotEdit as error:
            yield Rejected(f"{owner.path}, {key}", str(error))


def is_generated(entry: Object, name: str) -> bool:
    """Return whether the generator *entry* makes what is called *name* when it is rendered."""
    own = entry.get("name")
    return isinstance(own, str) and bool(own) and own in name


def _data_key_of(wanted: Wanted) -> str | None:
    match wanted.steps:
        case (Key("data"), Key(key)) if wanted.ref.kind == "ConfigMap":
            return key
        case _:
            return None


def _edit_generator(
    owner: Kustomization,
    position: int,
    entry: Object,
    key: str,
    value: Any,  # noqa: ANN401
) -> Iterator[tuple[Tree, str]]:
    """Yield the trees in which the generator gives *value* for *key*, and the file if it is one."""
    literals = _texts_of(entry, "literals")
    for i, literal in enumerate(literals):
        if literal.partition("=")[0] == key:
            new = [] if value is ABSENT else [f"{key}={value}"]
            changed = {**entry, "literals": [*literals[:i], *new, *literals[i + 1 :]]}
            yield owner.with_item(_GENERATOR, position, changed), ""
            return
    for file in _texts_of(entry, "files"):
        name, is_named, path = file.rpartition("=")
        if (name if is_named else path.rpartition("/")[2]) == key and isinstance(value, str):
            at = join_paths(owner.folder, path)
            yield owner.tree.with_text(at, value), at
            return
    for file in (*_texts_of(entry, "envs"), *filter(None, [entry.get("env")])):
        at = join_paths(owner.folder, str(file))
        text = _set_variable(owner.tree.read(at) or "", key, value)
        if text is not None:
            yield owner.tree.with_text(at, text), at
            return
    if isinstance(value, str) and "\n" not in value:
        changed = {**entry, "literals": [*literals, f"{key}={value}"]}
        yield owner.with_item(_GENERATOR, position, changed), ""


def _set_variable(text: str, key: str, value: Any) -> str | None:  # noqa: ANN401
    """Return *text*, lines of KEY=VALUE, with another value; nothing where it lacks the key."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line.lstrip().partition("=")[0] == key:
            ending = "\r" if line.endswith("\r") else ""
            lines[i : i + 1] = [] if value is ABSENT else [f"{key}={value}{ending}"]
            return "\n".join(lines)
    return None


def _edit_pairs(
    owner: Kustomization,
    common: str,
    part: str,
    name: str,
    value: Any,  # noqa: ANN401
) -> Iterator[tuple[str, Any]]:
    found = owner.says.get(common)
    if isinstance(found, dict) and name in found:
        yield common, _set_pair(found, name, value)
    for position, entry in enumerate(owner.list_of("labels")):
        pairs = entry.get("pairs") if isinstance(entry, dict) else None
        if part == "labels" and isinstance(pairs, dict) and name in pairs:
            labels = list(owner.list_of("labels"))
            labels[position] = {**entry, "pairs": _set_pair(pairs, name, value)}
            yield "labels", labels


def _set_pair(pairs: Object, name: str, value: Any) -> Object:  # noqa: ANN401 - any JSON value
    rest = {key: each for key, each in pairs.items() if key != name}
    return rest if value is ABSENT else {**pairs, name: value}


def _texts_of(entry: Object, key: str) -> list[str]:
    found = entry.get(key)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def find_overlay_candidates(
    tree: Tree, folder: str, wanted: Wanted, declared: Object
) -> Candidates:
    """Yield the places in the overlay at *folder* that could declare what is wanted."""
    owned = list(kustomizations_in(tree, folder))
    if not wanted.is_deletion:
        for each in owned:
            yield from _find_declaring(each, wanted, declared)
    for each in owned:
        yield from _find_resources(each, wanted)
    for each in owned[:1]:
        if not _is_hashed(owned, wanted):
            for patch in patches_of(each):
                yield from extend_patch(patch, wanted)
            yield from new_patches(each, wanted, declared)
        yield from find_merging_generators(each, wanted)


def _find_declaring(owner: Kustomization, wanted: Wanted, declared: Object) -> Candidates:
    yield from find_image_candidates(owner, wanted)
    yield from find_replica_candidates(owner, wanted)
    yield from find_label_candidates(owner, wanted)
    for patch in patches_of(owner):
        yield from find_declaring_patch(patch, wanted, declared)
    yield from find_generator_candidates(owner, wanted)


def _is_hashed(owned: list[Kustomization], wanted: Wanted) -> bool:
    """Return whether a generator makes the object, which then says the field, and no patch."""
    return wanted.ref.kind == "ConfigMap" and any(
        isinstance(entry, dict) and is_generated(entry, wanted.ref.name)
        for each in owned
        for entry in each.list_of("configMapGenerator")
    )


def _find_resources(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield the files that *owner* lists and in which the object is."""

    def matches(ref: Ref) -> bool:
        same = (ref.group, ref.kind) == (wanted.ref.group, wanted.ref.kind)
        return same and bool(ref.name) and ref.name in wanted.ref.name

    for listed in owner.list_of("resources"):
        if not isinstance(listed, str) or not listed.endswith(SUFFIXES) or "://" in listed:
            continue
        if ".." in listed.split("/"):
            continue  # it may be shared with other overlays
        path = join_paths(owner.folder, listed)
        for candidate in find_file_candidates(owner.tree, path, wanted, matches):
            yield (
                _unlist_if_empty(owner, listed, path, candidate)
                if isinstance(candidate, Candidate)
                else candidate
            )


def _unlist_if_empty(
    owner: Kustomization, listed: str, path: str, candidate: Candidate
) -> Candidate:
    """Return *candidate*, with the file off the list where nothing is left of it."""
    if candidate.tree.read(path) is not None:
        return candidate
    rest = [each for each in owner.list_of("resources") if each != listed]
    try:
        tree = owner.with_key("resources", rest).with_text(path, None)
    except CannotEdit:
        return candidate
    return Candidate(tree, candidate.where)
