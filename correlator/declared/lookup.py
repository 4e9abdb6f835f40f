"""What Git declares about one object."""

from dataclasses import replace

from correlator.declared.documents import Manifests
from correlator.standing import Lookup
from glasswarden.kube.objects import Object, Ref, ref_of


def lookup_in(manifests: Manifests, home: str = "") -> Lookup:
    """Return a look into *manifests*; *home* is the namespace of those that name none.

    A version counts for nothing there: Git may declare an object in another one than it was written
    in.
    """
    by_name = {_name(_at_home(ref_of(each.manifest), home)): each for each in manifests.objects}

    def declared(ref: Ref) -> Object | None:
        # A manifest may leave its namespace to whoever applies it.
        found = by_name.get(_name(ref)) or by_name.get(_name(replace(ref, namespace="")))
        return found.manifest if found else None

    return declared


def _at_home(ref: Ref, home: str) -> Ref:
    return ref if ref.namespace else replace(ref, namespace=home)


def _name(ref: Ref) -> tuple[str, str, str, str]:
    return ref.group, ref.kind, ref.namespace, ref.name
