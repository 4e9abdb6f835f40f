"""`images:` and `replicas:` of an overlay."""

import re
from dataclasses import dataclass
from typing import Any, Final

from correlator.backport.candidate import Candidate, Candidates, Refused
from correlator.backport.errors import CannotEdit
from correlator.backport.kustomization import Kustomization
from correlator.backport.patches import original_name
from correlator.backport.wanted import Wanted
from glasswarden.kube.objects import Object
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


def image_candidates(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield *owner* with an entry of `images` that gives the live image."""
    if wanted.steps[-1:] != (Key("image"),) or not isinstance(wanted.value, str):
        return
    live = parse_image(wanted.value)
    for position, entry in enumerate(owner.listed("images")):
        if live is not None and isinstance(entry, dict):
            yield from _tried(owner, "images", position, _naming(entry, live))


def replica_candidates(owner: Kustomization, wanted: Wanted) -> Candidates:
    """Yield *owner* with an entry of `replicas` that gives the live count."""
    if wanted.path != REPLICAS or not isinstance(wanted.value, int):
        return
    name = original_name(owner, wanted.ref.name)
    for position, entry in enumerate(owner.listed("replicas")):
        if isinstance(entry, dict) and entry.get("name") in (name, wanted.ref.name):
            yield from _tried(owner, "replicas", position, {**entry, "count": wanted.value})


def _naming(entry: Object, live: Image) -> Object:
    """Return *entry* giving *live*, with no more words than that needs."""
    parts = {"newTag": live.tag, "digest": live.digest}
    if live.name != entry.get("name") or "newName" in entry:
        parts["newName"] = live.name
    kept = {key: each for key, each in entry.items() if parts.get(key) != ""}
    return kept | {key: each for key, each in parts.items() if each}


def _tried(owner: Kustomization, key: str, position: int, entry: Any) -> Candidates:  # noqa: ANN401
    where = f"{owner.path}, {key}[{position}]"
    try:
        yield Candidate(owner.with_item(key, position, entry), where)
    except CannotEdit as error:
        yield Refused(where, str(error))
