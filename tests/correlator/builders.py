"""Declared and live objects for tests that name only what matters to them."""

from correlator.declared.manifests import Declared
from correlator.detector.detect import Detector
from correlator.finding import Finding
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.objects import Object
from glasswarden.policy.policy import DEFAULT
from tests.kube.builders import an_entry, managed_by

FLUX = {
    "kustomize.toolkit.fluxcd.io/name": "shop",
    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
}
DETECTOR = Detector(DEFAULT, "abc123")


def found(declared: Object, live: Object) -> list[Finding]:
    """Return what the detector finds."""
    return DETECTOR.compare(Declared(declared, "web.yaml:1"), live)


def fields(declared: Object, live: Object) -> dict[str, tuple[object, object]]:
    """Return the fields that differ, with the declared and the live value; none for no value."""
    return {
        str(each.field): (
            None if each.declared is ABSENT else each.declared,
            None if each.live is ABSENT else each.live,
        )
        for each in found(declared, live)
    }


def owned(obj: Object, *entries: Object) -> Object:
    """Return a live copy of *obj* that Flux owns, with more managedFields."""
    labels = {**obj["metadata"].get("labels", {}), **FLUX}
    marked = {**obj, "metadata": {**obj["metadata"], "labels": labels}}
    marks = [f"/metadata/labels/{key.replace('/', '~1')}" for key in FLUX]
    applied = an_entry("kustomize-controller", *marks, operation="Apply")
    return managed_by(marked, applied, *entries)
