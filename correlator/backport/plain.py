"""Plain manifests: finds the objects in a file, and declares the field in the object itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from correlator.backport.edit import Location, rewrite_document, set_value, value_of
from correlator.backport.errors import CannotEdit, CannotPlace
from correlator.backport.model import Candidate, Candidates, Rejected, Tree, Wanted
from correlator.backport.yaml_text import pieces_of
from glasswarden.kube.objects import Object, Ref, ref_of


@dataclass(frozen=True, slots=True)
class FileObject:
    """An object in a file."""

    document: int
    at: Location
    """Where in the document: the root, or an item of a List."""
    manifest: Object

    @property
    def ref(self) -> Ref:
        """Which object it is, as far as the file says."""
        return ref_of(self.manifest)


def objects_in(text: str) -> Iterator[FileObject]:
    """Yield the objects in *text*; a document that cannot be read is passed over."""
    for index, piece in enumerate(pieces_of(text)):
        try:
            value = value_of(piece)
        except CannotEdit:
            continue
        yield from _objects_in(value, index, ())


def replace_manifest(text: str, held: FileObject, manifest: Object) -> str:
    """Return *text* with *manifest* for what it holds, or raise `CannotEdit`."""
    document = value_of(pieces_of(text)[held.document])
    return rewrite_document(text, held.document, _set_manifest(document, held.at, manifest))


def remove_manifest(text: str, held: FileObject) -> str | None:
    """Return *text* without what it holds, nothing where nothing else is left."""
    others = [
        each for each in objects_in(text) if (each.document, each.at) != (held.document, held.at)
    ]
    if not others:
        return None
    if held.at:
        document = value_of(pieces_of(text)[held.document])
        items = [each for i, each in enumerate(document["items"]) if i != held.at[1]]
        return rewrite_document(text, held.document, {**document, "items": items})
    pieces = pieces_of(text)
    kept = [piece.text for i, piece in enumerate(pieces) if i != held.document]
    head = text[: pieces[0].start]
    if held.document == 0 and kept[0].startswith("---"):
        kept[0] = kept[0].partition("\n")[2]
    return head + "".join(kept)


def _objects_in(value: object, index: int, at: Location) -> Iterator[FileObject]:
    if not isinstance(value, dict) or not isinstance(kind := value.get("kind"), str):
        return
    items = value.get("items")
    if kind.endswith("List") and isinstance(items, list):
        for position, item in enumerate(items):
            yield from _objects_in(item, index, (*at, "items", position))
    else:
        yield FileObject(index, at, value)


def _set_manifest(value: Object, at: Location, manifest: Object) -> Object:
    if not at:
        return manifest
    _, position, *rest = at
    items = list(value["items"])
    items[int(position)] = _set_manifest(items[int(position)], tuple(rest), manifest)
    return {**value, "items": items}


SUFFIXES = (".yaml", ".yml", ".json")


def find_plain_candidates(tree: Tree, files: list[str], wanted: Wanted) -> Candidates:
    """Yield *files* in which the object of *wanted* is declared, with the field as wanted."""
    for path in files:
        yield from find_file_candidates(tree, path, wanted, lambda ref: is_same(ref, wanted.ref))


def find_file_candidates(
    tree: Tree, path: str, wanted: Wanted, matches: Callable[[Ref], bool]
) -> Candidates:
    """Yield *path* with the field as wanted in each object that *matches*."""
    text = tree.read(path)
    if text is None or wanted.ref.kind not in text:
        return
    for held in objects_in(text):
        if not matches(held.ref):
            continue
        try:
            yield Candidate(tree.with_text(path, _edit_object(text, held, wanted)), path)
        except (CannotEdit, CannotPlace) as error:
            yield Rejected(path, str(error))


def is_same(declared: Ref, ref: Ref) -> bool:
    """Return whether a manifest that says *declared* is about *ref*."""
    return (declared.group, declared.kind, declared.name) == (ref.group, ref.kind, ref.name) and (
        declared.namespace in ("", ref.namespace)
    )


def _edit_object(text: str, held: FileObject, wanted: Wanted) -> str | None:
    if wanted.is_deletion:
        return remove_manifest(text, held)
    live = wanted.live or {}
    return replace_manifest(text, held, set_value(held.manifest, wanted.steps, wanted.value, live))
