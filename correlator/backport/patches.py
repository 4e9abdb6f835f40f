"""Kustomizations and their patches: strategic merge and JSON 6902, in separate files or inline."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from correlator.backport.edit import (
    Location,
    Steps,
    found_at,
    location_of,
    rewrite_document,
    set_value,
    value_of,
)
from correlator.backport.errors import CannotEdit, CannotPlace
from correlator.backport.model import (
    Candidate,
    Candidates,
    Rejected,
    Tree,
    Wanted,
    folder_of,
    join_paths,
)
from correlator.backport.yaml_text import pieces_of, render_block
from glasswarden.kube.compare import ABSENT, Value
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.paths import Index, Key, Member, Order, Select


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization in a tree."""

    tree: Tree
    path: str
    document: int
    says: dict[str, Any]

    @property
    def folder(self) -> str:
        """Its folder."""
        return folder_of(self.path)

    def list_of(self, key: str) -> list[Any]:
        """Return the list under *key*, empty where there is none."""
        found = self.says.get(key)
        return found if isinstance(found, list) else []

    def with_key(self, key: str, value: Any) -> Tree:  # noqa: ANN401 - any JSON value
        """Return the tree with *value* under *key* here, or raise `CannotEdit`."""
        text = self.tree.read_text(self.path)
        return self.tree.with_text(
            self.path, rewrite_document(text, self.document, {**self.says, key: value})
        )

    def with_item(self, key: str, position: int, item: Any) -> Tree:  # noqa: ANN401
        """Return the tree with *item* at *position* of the list under *key*."""
        items = list(self.list_of(key))
        items[position : position + 1] = [item]
        return self.with_key(key, items)


def kustomization_in(tree: Tree, folder: str) -> Kustomization | None:
    """Return the kustomization in *folder*, none where there is none that can be read."""
    path = tree.find_kustomization(folder)
    text = tree.read(path) if path else None
    if path is None or text is None:
        return None
    for index, piece in enumerate(pieces_of(text)):
        try:
            says = value_of(piece)
        except CannotEdit:
            return None
        if isinstance(says, dict):
            return Kustomization(tree, path, index, says)
    return None


def kustomizations_in(tree: Tree, folder: str) -> Iterator[Kustomization]:
    """Yield the kustomization in *folder*, then those that it takes in from folders below it.

    A base beside it may be shared with other overlays, and is never one of its own.
    """
    pending = [folder]
    seen = set()
    while pending:
        at = pending.pop(0)
        found = kustomization_in(tree, at)
        if found is None or at in seen:
            continue
        seen.add(at)
        yield found
        pending += [
            join_paths(at, each)
            for each in (*found.list_of("resources"), *found.list_of("components"))
            if isinstance(each, str) and "://" not in each and ".." not in each.split("/")
        ]


_OLD_MERGE: Final = "patchesStrategicMerge"
_OLD_JSON: Final = "patchesJson6902"
_DELETE: Final = {"$patch": "delete"}


@dataclass(frozen=True, slots=True)
class Patch:
    """One patch that a kustomization lists."""

    owner: Kustomization
    key: str
    position: int
    text: str
    file: str
    """Where it is; empty where it stands in line."""
    target: Object

    @property
    def where(self) -> str:
        """The place, for people."""
        return self.file or f"{self.owner.path}, {self.key}[{self.position}]"

    def with_text(self, text: str) -> Tree:
        """Return the tree with *text* for this patch."""
        if self.file:
            return self.owner.tree.with_text(self.file, text)
        item = self.owner.list_of(self.key)[self.position]
        new: Any = {**item, "patch": text} if isinstance(item, dict) else text
        return self.owner.with_item(self.key, self.position, new)


def patches_of(owner: Kustomization) -> Iterator[Patch]:
    """Yield the patches that *owner* lists; what cannot be read is passed over."""
    for key in ("patches", _OLD_MERGE, _OLD_JSON):
        for position, item in enumerate(owner.list_of(key)):
            if isinstance(item, str):
                item = {"patch": item} if "\n" in item else {"path": item}  # noqa: PLW2901
            if not isinstance(item, dict):
                continue
            inline, path, target = (item.get(name) for name in ("patch", "path", "target"))
            target = target if isinstance(target, dict) else {}
            if isinstance(inline, str):
                yield Patch(owner, key, position, inline, "", target)
            elif isinstance(path, str):
                file = join_paths(owner.folder, path)
                text = owner.tree.read(file)
                if text is not None:
                    yield Patch(owner, key, position, text, file, target)


def find_declaring_patch(patch: Patch, wanted: Wanted, declared: Object) -> Candidates:
    """Yield *patch* with the field as wanted, where it says something about that field already."""
    for index, value in _split_documents(patch.text):
        if isinstance(value, list):
            yield from _edit_operations(patch, index, value, wanted, declared)
        elif is_about(value, patch.target, wanted):
            if found_at(value, wanted.steps) is ABSENT:
                continue
            yield from _try_patch(
                patch, index, set_value(value, wanted.steps, wanted.value, wanted.live or {})
            )
            if wanted.value is ABSENT:
                yield from _try_patch(patch, index, merge_patch(value, wanted))


def extend_patch(patch: Patch, wanted: Wanted) -> Candidates:
    """Yield *patch* with the field added, where it is about the object."""
    for index, value in _split_documents(patch.text):
        if isinstance(value, dict) and is_about(value, patch.target, wanted):
            try:
                yield from _try_patch(patch, index, merge_patch(value, wanted))
            except CannotPlace as error:
                yield Rejected(patch.where, str(error))


def new_patches(owner: Kustomization, wanted: Wanted, declared: Object) -> Candidates:
    """Yield *owner* with a new patch: strategic merge where that can say it, else JSON 6902."""
    name = original_name_of(owner, wanted.ref.name)
    head = {"apiVersion": declared.get("apiVersion"), "kind": wanted.ref.kind}
    places: list[Object] = [{"name": name}, {"name": name, "namespace": wanted.ref.namespace}]
    for metadata in places if wanted.ref.namespace else places[:1]:
        try:
            document = merge_patch({**head, "metadata": metadata}, wanted)
        except CannotPlace:
            break
        yield from _list_patch(owner, wanted, document, {})
    try:
        operation = operation_for(declared, wanted)
    except CannotPlace as error:
        yield Rejected(owner.path, str(error))
        return
    target = {"group": wanted.ref.group, "kind": wanted.ref.kind, "name": name}
    target = {key: each for key, each in target.items() if each}
    yield from _list_patch(owner, wanted, [operation], {"target": target})


def _list_patch(owner: Kustomization, wanted: Wanted, document: Any, more: Object) -> Candidates:  # noqa: ANN401
    file = _find_free_name(owner, wanted)
    text = "\n".join(render_block(document, 2, 2)) + "\n"
    try:
        tree = owner.with_key("patches", [*owner.list_of("patches"), {"path": file, **more}])
    except CannotEdit as error:
        yield Rejected(owner.path, str(error))
        return
    path = join_paths(owner.folder, file)
    yield Candidate(tree.with_text(path, text), f"{path} (new)")


def _find_free_name(owner: Kustomization, wanted: Wanted) -> str:
    stem = f"{wanted.ref.kind.lower()}-{wanted.ref.name}".replace(":", "-")
    names = [f"{stem}.patch.yaml", *(f"{stem}.{n}.patch.yaml" for n in range(2, 100))]
    return next(name for name in names if not owner.tree.has(join_paths(owner.folder, name)))


def original_name_of(owner: Kustomization, name: str) -> str:
    """Return what *name* was before *owner* put its prefix and suffix on."""
    prefix, suffix = (owner.says.get(key) for key in ("namePrefix", "nameSuffix"))
    name = name.removeprefix(prefix) if isinstance(prefix, str) else name
    return name.removesuffix(suffix) if isinstance(suffix, str) else name


def is_about(value: Any, target: Object, wanted: Wanted) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether a merge patch may be for the object; its rendering tells for sure."""
    if not isinstance(value, dict):
        return False
    ref = ref_of(value)
    kind = str(target.get("kind") or ref.kind)
    name = str(target.get("name") or ref.name)
    is_whole = not target and ref.group != wanted.ref.group
    return kind == wanted.ref.kind and name in wanted.ref.name and bool(name) and not is_whole


def merge_patch(document: Object, wanted: Wanted) -> Object:
    """Return the merge patch *document* with the field as wanted, or raise `CannotPlace`."""
    if wanted.is_deletion:
        return {**document, **_DELETE}
    steps, value = _merge_step_of(wanted)
    if value is not ABSENT:
        merged = set_value(document, steps, value)
    elif isinstance(steps[-1], Key):
        merged = set_value(document, steps, None)
    elif isinstance(steps[-1], Select):
        merged = set_value(document, steps, {**dict(steps[-1].keys), **_DELETE})
    else:
        raise CannotPlace("a merge patch cannot take a value out of a list")
    return dict(merged)


def _merge_step_of(wanted: Wanted) -> tuple[Steps, Value]:
    """Return how a merge patch goes: a list without merge keys is replaced as a whole."""
    steps = wanted.steps
    for depth, step in enumerate(steps):
        if isinstance(step, Index | Order):
            return steps[:depth], found_at(wanted.live or {}, steps[:depth])
        if isinstance(step, Member) and wanted.value is ABSENT:
            return steps, ABSENT
    return steps, wanted.value


def operation_for(declared: Object, wanted: Wanted) -> Object:
    """Return the JSON 6902 operation that makes *declared* as wanted, or raise `CannotPlace`."""
    if wanted.is_deletion:
        raise CannotPlace("an operation on fields cannot delete the object")
    steps = wanted.steps
    at = location_of(declared, steps)
    if at is not None and wanted.value is ABSENT:
        return {"op": "remove", "path": pointer_of(at)}
    if at is not None:
        return {"op": "replace", "path": pointer_of(at), "value": wanted.value}
    depth = max(d for d in range(len(steps)) if location_of(declared, steps[:d]) is not None)
    around = found_at(declared, steps[:depth])
    live = found_at(wanted.live or {}, steps[:depth])
    above = location_of(declared, steps[:depth]) or ()
    made = set_value(around, steps[depth:], wanted.value, live)
    if isinstance(made, list):
        position = next((i for i, each in enumerate(around) if each != made[i]), len(around))
        return {"op": "add", "path": pointer_of((*above, position)), "value": made[position]}
    first = steps[depth]
    name = first.name if isinstance(first, Key) else ""
    return {"op": "add", "path": pointer_of((*above, name)), "value": made[name]}


def pointer_of(at: Location) -> str:
    """Return *at* as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in at)


def _location_of(pointer: Any, declared: Object) -> Location | None:  # noqa: ANN401 - any JSON value
    """Return where *pointer* leads in *declared*."""
    at: list[str | int] = []
    value: Value = declared
    for part in str(pointer).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        step: str | int = int(name) if isinstance(value, list) and name.isdigit() else name
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
        at.append(step)
    return tuple(at)


def _edit_operations(
    patch: Patch, index: int, operations: list[Any], wanted: Wanted, declared: Object
) -> Candidates:
    """Yield the patch with the operation changed that sets the field, or something around it."""
    asked = location_of(declared, wanted.steps)
    if asked is None:
        return
    for position, each in enumerate(operations):
        at = _location_of(each.get("path"), declared) if isinstance(each, dict) else None
        if at is None or "value" not in each or asked[: len(at)] != at:
            continue
        inside = set_value(each["value"], wanted.steps[len(at) :], wanted.value, ABSENT)
        new = [
            *operations[:position],
            *_change_operation(each, inside),
            *operations[position + 1 :],
        ]
        yield from _try_patch(patch, index, new)


def _change_operation(operation: Object, value: Value) -> list[Object]:
    return [] if value is ABSENT else [{**operation, "value": value}]


def _split_documents(text: str) -> Iterator[tuple[int, Any]]:
    for index, piece in enumerate(pieces_of(text)):
        try:
            yield index, value_of(piece)
        except CannotEdit:
            continue


def _try_patch(patch: Patch, index: int, value: Any) -> Candidates:  # noqa: ANN401 - any JSON value
    try:
        yield Candidate(patch.with_text(rewrite_document(patch.text, index, value)), patch.where)
    except (CannotEdit, CannotPlace) as error:
        yield Rejected(patch.where, str(error))
