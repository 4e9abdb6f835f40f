"""Paths with dots, as dyff prints them, read back into paths.

`spec.template.spec.containers.web.image` does not say that `web` is an item of a list, nor does
`metadata.labels.a.b` that the last dot is the key's own: the schema of Kubernetes' kinds tells, and
the names of well-known maps.
"""

from typing import Final

from glasswarden.kube.paths import ROOT, Index, Key, Path, Select
from glasswarden.kube.schema import Keyed, Shape

_MAPS: Final = frozenset(
    {
        "annotations", "binaryData", "data", "labels", "limits", "matchLabels", "nodeSelector",
        "requests", "stringData",
    }
)  # fmt: skip
"""Fields below which stand keys that people choose: their dots are their own."""

_TEXTS: Final = _MAPS - {"limits", "requests"}


def parse_dotted(text: str, shape: Shape) -> tuple[Path, Shape]:
    """Return the path that *text* spells in an object of *shape*, and the shape that is there."""
    path, words = ROOT, text.split(".") if text and not text.startswith("(") else []
    while words:
        if isinstance(path.step, Key) and path.step.name in _MAPS:
            return path / Key(".".join(words)), shape.at(".".join(words))
        word, *words = words
        if isinstance(shape.items, Keyed):
            word, words = _item(word, words)
            path, shape = path / _step(word, shape.items), shape.item
        elif word.isdigit():
            path, shape = path / Index(int(word)), shape.item
        else:
            path, shape = path / Key(word), shape.at(word)
    return path, shape


def is_text_at(path: Path) -> bool:
    """Tell whether only text can stand at *path*."""
    above = path.parent.step if path.parent else None
    if isinstance(above, Key) and above.name in _TEXTS:
        return True
    return isinstance(path.step, Key) and path.step.name in ("value", "image", "name")


def _item(word: str, words: list[str]) -> tuple[str, list[str]]:
    """Return an item's name, which may have dots of its own, and the words after it."""
    rest = list(words)
    while rest and not _is_field(rest[0]):
        word, rest = f"{word}.{rest[0]}", rest[1:]
    return word, rest


def _is_field(word: str) -> bool:
    # Fields begin with a small letter; what people choose to write with dots mostly does not.
    return word[:1].islower() and word.isalnum()


def _step(word: str, items: Keyed) -> Index | Select:
    if word.isdigit():
        return Index(int(word))
    name = items.keys[0] if len(items.keys) == 1 else "name"
    return Select(((name, word),))
