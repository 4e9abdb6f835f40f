"""Manifests in files: documents, lists of objects, and broken documents.

Each document is parsed separately: one that cannot be read is reported with its line and skipped.
The last applied configuration of client-side apply is read from its annotation, which anybody can
edit. Hooks (objects that an engine creates around a sync, and deletes by their policy) are
recognised, because they are never drift.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from correlator.declared.yaml_values import YamlInvalid, parse_yaml
from correlator.finding import Incomplete
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.engines.registry import ENGINES, drift_of
from glasswarden.kube.objects import Object, annotations_of, metadata_of


def is_hook(obj: Object, owner: Owner | None) -> bool:
    """Return whether *owner* creates *obj* only around a sync.

    Where the owner is not known: whether any engine would.
    """
    if owner is not None:
        return drift_of(owner.engine).is_hook(obj, owner.kind)
    return any(engine.drift.is_hook(obj, "") for engine in ENGINES)


def leaves_alone(manifest: Object, owner: Owner | None) -> str:
    """Return why *owner*, or any engine without one, does not update the object of *manifest*."""
    drifts = [drift_of(owner.engine)] if owner else [engine.drift for engine in ENGINES]
    kind = owner.kind if owner else ""
    return next(filter(None, (each.leaves_alone(manifest, kind) for each in drifts)), "")


_SEPARATOR: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_BLANK: Final = re.compile(r"(?:\s*(?:[#%][^\n]*)?(?:\n|$))*(?:\.\.\.\s*)?")

_decode_json: Final = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Declared:
    """An object that Git declares, and where."""

    manifest: Object
    origin: str
    """The file and the line at which the document begins, for a person to open."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """What a place declares, and what of it could not be read."""

    objects: tuple[Declared, ...] = ()
    incomplete: tuple[Incomplete, ...] = ()
    revision: str = ""
    """The commit that it was read at, where it came from Git."""


def join_manifests(parts: Iterable[Manifests]) -> Manifests:
    """Return *parts* as one."""
    listed = tuple(parts)
    return Manifests(
        tuple(each for part in listed for each in part.objects),
        tuple(each for part in listed for each in part.incomplete),
    )


def parse_documents(text: str, file: str) -> Manifests:
    """Return the objects in *text*, which *file* holds."""
    objects: list[Declared] = []
    incomplete: list[Incomplete] = []
    for line, document in _split_documents(text):
        try:
            values = _values_in(_parse(document))
        except YamlInvalid as error:
            where = f"{file}, line {line + error.line}"
            incomplete.append(Incomplete(where, f"not YAML: {error}"))
            continue
        for value in values:
            try:
                objects += _parse_objects(value, file, line)
            except _NoObject as error:
                incomplete.append(Incomplete(f"{file}, line {line}", str(error)))
    return Manifests(tuple(objects), tuple(incomplete))


class _NoObject(ValueError):
    """A document that is no Kubernetes object."""


def _split_documents(text: str) -> Iterator[tuple[int, str]]:
    """Yield each document that is not blank, with the line it begins at."""
    line = 1
    for document in _SEPARATOR.split(text.removeprefix("\ufeff")):
        if not _BLANK.fullmatch(document):
            body = document.lstrip("\n")
            skipped = len(document) - len(body)
            yield line + skipped, body
        line += document.count("\n")


def _parse(document: str) -> Any:  # noqa: ANN401 - any JSON value
    if document.startswith(("{", "[")):
        # JSON is YAML, and is read a hundred times faster as what it is.
        try:
            return _decode_json(document)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            pass
    return parse_yaml(document)


def _values_in(value: Any) -> Iterator[Any]:  # noqa: ANN401 - any JSON value
    """Yield the items of a list of objects, and of lists in it, each of which stands alone."""
    pending = [value]
    while pending:
        value = pending.pop()
        found = value if isinstance(value, dict) else {}
        items, kind = found.get("items"), found.get("kind")
        if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
            pending += reversed(items)
        else:
            yield value


def _parse_objects(value: Any, file: str, line: int) -> list[Declared]:  # noqa: ANN401 - any JSON value
    if value is None:
        return []
    if not isinstance(value, dict):
        raise _NoObject("not a Kubernetes object: not a map")
    if _has_many_names(value) and is_hook(value, None):
        return []  # each sync makes one of its own
    _check(value)
    return [Declared(value, f"{file}:{line}")]


def _has_many_names(value: Object) -> bool:
    metadata = metadata_of(value)
    return "generateName" in metadata and "name" not in metadata


def _check(value: Object) -> None:
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    for key, found in (
        ("apiVersion", value.get("apiVersion")),
        ("kind", value.get("kind")),
        ("metadata.name", name),
    ):
        if not isinstance(found, str) or not found:
            raise _NoObject(f"not a Kubernetes object: no {key}")


_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def last_applied_of(live: Object) -> Object | None:
    """Return what was applied last to *live*, nothing where that is not told."""
    try:
        return msgspec.json.decode(str(annotations_of(live).get(_LAST_APPLIED, "")), type=dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
