"""Argo CD's `ignoreDifferences`: which fields of which objects an Application leaves alone."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from correlator.declared.yaml_values import YamlInvalid, parse_yaml
from correlator.finding import Finding, Hidden, Incomplete
from glasswarden.kube.engines.engine import Owner
from glasswarden.kube.objects import Object, ref_of
from glasswarden.kube.paths import escape_key, is_bare
from glasswarden.kube.patterns import PathPattern, overlaps, parse_pattern, walks_of

_SYSTEM: Final = "resource.customizations.ignoreDifferences."
_KEY: Final = re.compile(r"\.?\[(\"(?:[^\"\\]|\\.)*\")\]\??|\.([A-Za-z_][A-Za-z0-9_]*)\??")
_ITEM: Final = re.compile(r"\.?\[(\d*)\]\??")
_SELECT: Final = re.compile(
    r"\s*\|\s*select\(\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*==\s*(\"(?:[^\"\\]|\\.)*\")\s*\)(?:\s*\|\s*(?=\.))?"
)


@dataclass(frozen=True, slots=True)
class Ignore:
    """One entry of an Application's list."""

    owner: Owner
    """The Application; without a name, all of those of one Argo CD."""
    group: str
    kind: str
    name: str
    namespace: str
    """Group and kind may have stars; an empty name or namespace asks for nothing."""
    fields: tuple[PathPattern, ...]
    managers: frozenset[str]

    def covers(self, finding: Finding) -> bool:
        """Return whether the Application would not see *finding*."""
        ref, owner = finding.ref, finding.owner
        return (
            owner is not None
            and owner.engine == self.owner.engine
            and self._is_for(owner)
            and fnmatchcase(ref.group, self.group)
            and fnmatchcase(ref.kind, self.kind)
            and self.name in ("", ref.name)
            and self.namespace in ("", ref.namespace)
            and self._covers_field(finding)
        )

    def why(self, finding: Finding) -> str:
        """Return whose rule leaves *finding* alone, if this one does."""
        if not self.covers(finding):
            return ""
        return f"ignoreDifferences of {self.owner.app or 'all of Argo CD'} leaves it alone"

    def _is_for(self, owner: Owner) -> bool:
        if not self.owner.app:
            return True
        return owner.app == self.owner.app and owner.namespace in (None, self.owner.namespace)

    def _covers_field(self, finding: Finding) -> bool:
        held = bool(finding.managers) and set(finding.managers) <= self.managers
        # Argo CD knows items by their numbers, we by their keys.
        paths = [finding.field, *([finding.numbered] if finding.numbered else [])]
        walks = walks_of(self.fields)
        return held or any(overlaps(walk, path) for walk in walks for path in paths)


def ignores_of(application: Object, owner: Owner) -> Iterator[Ignore | Incomplete]:
    """Yield what *application* ignores, and which of its expressions are not understood."""
    spec = application.get("spec")
    listed = spec.get("ignoreDifferences") if isinstance(spec, dict) else None
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict):
            yield from _parse_rule(entry, owner, str(ref_of(application)))


def system_ignores_of(config: Object, namespace: str) -> Iterator[Ignore | Incomplete]:
    """Yield what *config*, the ConfigMap of an Argo CD, has all of its Applications ignore."""
    data = config.get("data")
    owner = Owner("argocd", "", namespace, "Application")
    for key, text in data.items() if isinstance(data, dict) else ():
        if not key.startswith(_SYSTEM):
            continue
        group, _, kind = key.removeprefix(_SYSTEM).rpartition("_")
        place = {"group": "*", "kind": "*"} if kind == "all" else {"group": group, "kind": kind}
        try:
            entry = parse_yaml(str(text))
        except YamlInvalid as error:
            yield Incomplete(f"{key} of argocd-cm", f"not YAML: {error}", Hidden.NONE)
            continue
        if isinstance(entry, dict):
            yield from _parse_rule({**entry, **place}, owner, "argocd-cm")


def _parse_rule(entry: dict[str, Any], owner: Owner, where: str) -> Iterator[Ignore | Incomplete]:
    fields = [pattern_of_pointer(text) for text in _texts(entry, "jsonPointers")]
    for text in _texts(entry, "jqPathExpressions"):
        try:
            fields.append(pattern_of_jq(text))
        except ValueError:
            what = f"ignoreDifferences of {where}"
            why = f"this jq expression is not understood: {text}"
            yield Incomplete(what, why, Hidden.NONE)
    yield Ignore(
        owner,
        str(entry.get("group", "")),
        str(entry.get("kind", "")),
        str(entry.get("name", "")),
        str(entry.get("namespace", "")),
        tuple(fields),
        frozenset(_texts(entry, "managedFieldsManagers")),
    )


def pattern_of_pointer(pointer: str) -> PathPattern:
    """Return the pattern for a JSON pointer, in which a number may be an item or a key."""
    keys = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    steps = [f"[{key}]" if key.isdigit() else f"/{escape_key(key)}" for key in keys]
    return parse_pattern("".join(steps) or "/")


def pattern_of_jq(expression: str) -> PathPattern:
    """Return the pattern for a path in jq's language.

    Keys, items, and `select` by one field are understood, which is what such rules are made of;
    `ValueError` for anything else.
    """
    text, position, expression = "", 0, expression.strip()
    while position < len(expression):
        if found := _SELECT.match(expression, position):
            if not text.endswith("[*]"):
                raise ValueError("select without items")
            value = json.loads(found[2])
            text = f"{text[:-3]}[{found[1]}={value if is_bare(value) else found[2]}]"
        elif found := _KEY.match(expression, position):
            text += f"/{escape_key(json.loads(found[1]) if found[1] else found[2])}"
        elif found := _ITEM.match(expression, position):
            text += f"[{found[1] or '*'}]"
        else:
            raise ValueError("not a path")
        position = found.end()
    return parse_pattern(text)


def _texts(entry: dict[str, Any], key: str) -> list[str]:
    value = entry.get(key)
    return [str(each) for each in value] if isinstance(value, list) else []
