"""Plain manifests: the field is declared where the object is."""

from collections.abc import Callable

from correlator.backport.candidate import Candidate, Candidates, Refused
from correlator.backport.errors import CannotEdit, CannotPlace
from correlator.backport.manifests import Held, objects_in, with_manifest, without_manifest
from correlator.backport.tree import Tree
from correlator.backport.values import with_value
from correlator.backport.wanted import Wanted
from glasswarden.kube.objects import Ref

SUFFIXES = (".yaml", ".yml", ".json")


def plain_candidates(tree: Tree, files: list[str], wanted: Wanted) -> Candidates:
    """Yield *files* in which the object of *wanted* is declared, with the field as wanted."""
    for path in files:
        yield from file_candidates(tree, path, wanted, lambda ref: is_same(ref, wanted.ref))


def file_candidates(
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
            yield Candidate(tree.edited(path, _edited(text, held, wanted)), path)
        except (CannotEdit, CannotPlace) as error:
            yield Refused(path, str(error))


def is_same(declared: Ref, ref: Ref) -> bool:
    """Tell whether a manifest that says *declared* is about *ref*."""
    return (declared.group, declared.kind, declared.name) == (ref.group, ref.kind, ref.name) and (
        declared.namespace in ("", ref.namespace)
    )


def _edited(text: str, held: Held, wanted: Wanted) -> str | None:
    if wanted.is_deletion:
        return without_manifest(text, held)
    live = wanted.live or {}
    return with_manifest(text, held, with_value(held.manifest, wanted.steps, wanted.value, live))
