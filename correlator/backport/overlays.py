"""Kustomize: the narrowest place that the overlay owns.

Where the overlay declares the field already comes first, from the outermost kustomization inwards,
since an outer one wins; then a patch that is about the object; then a new one.
"""

from correlator.backport.candidate import Candidate, Candidates
from correlator.backport.errors import CannotEdit
from correlator.backport.generators import (
    generator_candidates,
    is_generated,
    label_candidates,
    merging_generators,
)
from correlator.backport.images import image_candidates, replica_candidates
from correlator.backport.kustomization import Kustomization, owned_by
from correlator.backport.patches import declaring, extending, new_patches, patches_of
from correlator.backport.plain import SUFFIXES, file_candidates
from correlator.backport.tree import Tree, joined
from correlator.backport.wanted import Wanted
from glasswarden.kube.objects import Object, Ref


def overlay_candidates(tree: Tree, folder: str, wanted: Wanted, declared: Object) -> Candidates:
    """Yield the places in the overlay at *folder* that could declare what is wanted."""
    owned = list(owned_by(tree, folder))
    if not wanted.is_deletion:
        for each in owned:
            yield from _declaring(each, wanted, declared)
    for each in owned:
        yield from _resources(each, wanted)
    for each in owned[:1]:
        if not _is_hashed(owned, wanted):
            for patch in patches_of(each):
                yield from extending(patch, wanted)
            yield from new_patches(each, wanted, declared)
        yield from merging_generators(each, wanted)


def _declaring(owner: Kustomization, wanted: Wanted, declared: Object) -> Candidates:
    yield from image_candidates(owner, wanted)
    yield from replica_candidates(owner, wanted)
    yield from label_candidates(owner, wanted)
    for patch in patches_of(owner):
        yield from declaring(patch, wanted, declared)
    yield from generator_candidates(owner, wanted)


def _is_hashed(owned: list[Kustomization], wanted: Wanted) -> bool:
    """Tell whether a generator makes the object, which then says the field, and no patch."""
    return wanted.ref.kind == "ConfigMap" and any(
        isinstance(entry, dict) and is_generated(entry, wanted.ref.name)
        for each in owned
        for entry in each.listed("configMapGenerator")
    )


def _resources(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield the files that *owner* lists and in which the object is."""

    def matches(ref: Ref) -> bool:
        same = (ref.group, ref.kind) == (wanted.ref.group, wanted.ref.kind)
        return same and bool(ref.name) and ref.name in wanted.ref.name

    for listed in owner.listed("resources"):
        if not isinstance(listed, str) or not listed.endswith(SUFFIXES) or "://" in listed:
            continue
        if ".." in listed.split("/"):
            continue  # it may be shared with other overlays
        path = joined(owner.folder, listed)
        for candidate in file_candidates(owner.tree, path, wanted, matches):
            yield (
                _unlisted(owner, listed, path, candidate)
                if isinstance(candidate, Candidate)
                else candidate
            )


def _unlisted(owner: Kustomization, listed: str, path: str, candidate: Candidate) -> Candidate:
    """Return *candidate*, with the file off the list where nothing is left of it."""
    if candidate.tree.read(path) is not None:
        return candidate
    rest = [each for each in owner.listed("resources") if each != listed]
    try:
        tree = owner.saying("resources", rest).edited(path, None)
    except CannotEdit:
        return candidate
    return Candidate(tree, candidate.where)
