"""Objects of the worst shapes: as large as the API server takes, with thousands of entries."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bench.lab.objects import FLUX, Object, fields_of, managed

ENTRIES: Final = 10_000
ENTRY_BYTES: Final = 150
"""An entry's size in each object: 10,000 of them fill the 1.5 MB that etcd takes."""

STEPS: Final = 800
"""To what lies far down; Python decodes no more than a thousand."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape by name; *pair* makes the old and the new object with so many entries."""

    name: str
    pair: Callable[[int], tuple[Object, Object]]


def _new_values(entries: int) -> tuple[Object, Object]:
    names = [f"entry-{index:06}" for index in range(entries)]
    old, new = ({name: _text(name, mark) for name in names} for mark in "ab")
    return old, new


def _map_of_new_values(entries: int) -> tuple[Object, Object]:
    old, new = _new_values(entries)
    return _widget(old), _widget(new)


def _map_of_new_keys(entries: int) -> tuple[Object, Object]:
    def one(mark: str) -> Object:
        names = [f"{mark}-{index:06}" for index in range(entries)]
        return _widget({name: _text(name, "a") for name in names})

    return one("old"), one("new")


def _named_items_reversed(entries: int) -> tuple[Object, Object]:
    # Half of an entry's bytes are its names in managedFields, which make the list associative.
    def items(mark: str) -> list[dict[str, str]]:
        names = [f"entry-{index:06}" for index in range(entries)]
        return [{"name": name, "value": f"{mark}{name:.>40}"} for name in names]

    old, new = items("a"), items("b")[::-1]
    return _widget(old, owned=True), _widget(new, owned=True)


def _texts_reversed(entries: int) -> tuple[Object, Object]:
    texts = [_text(f"entry-{index:06}", "a", quotes=1) for index in range(entries)]
    return _widget(texts), _widget(texts[::-1])


def _texts_moved_by_one(entries: int) -> tuple[Object, Object]:
    texts = [_text(f"entry-{index:06}", "a", quotes=1) for index in range(entries)]
    return _widget(texts), _widget(["first", *texts[:-1]])


def _map_far_down(entries: int) -> tuple[Object, Object]:
    old, new = _new_values(entries)
    return _widget(_below(old)), _widget(_below(new))


def _below(value: Object) -> Object:
    for _ in range(STEPS):
        value = {"a": value}
    return value


SHAPES: Final = (
    Shape("map, every value changed", _map_of_new_values),
    Shape("map far down, every value changed", _map_far_down),
    Shape("map, every key changed", _map_of_new_keys),
    Shape("list of named items, turned round and changed", _named_items_reversed),
    Shape("list of texts, turned round", _texts_reversed),
    Shape("list of texts, moved by one", _texts_moved_by_one),
)


def _text(name: str, mark: str, quotes: int = 2) -> str:
    """Return a value that fills its entry: without a key it is longer by the key's bytes."""
    filler = ENTRY_BYTES - (len(name) + 6 if quotes == 2 else 3)
    return f"{mark}-{name}-".ljust(filler, "x")


def _widget(entries: Any, *, owned: bool = False) -> Object:  # noqa: ANN401  (a map or a list)
    spec = {"entries": entries}
    metadata: Object = {"name": "large", "namespace": "shop", "labels": FLUX, "uid": "1-2-3"}
    if owned:
        fields = {"f:spec": fields_of(spec)}
        metadata["managedFields"] = [managed("kustomize-controller", "Apply", fields)]
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": metadata,
        "spec": spec,
    }
