"""The output of `kubectl diff` and `argocd app diff`, read back into findings.

Both print, for each object, the lines in which live and declared YAML differ. Where the lines form
whole objects (the object is new, or the diff was made with all of its context), each field is told;
otherwise only which object differs, and in which lines: a few lines of YAML do not tell whose they
are. `KUBECTL_EXTERNAL_DIFF="diff -N -U 100000"` makes either program print all of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from correlator.declared.yaml_values import YamlInvalid, parse_yaml
from correlator.finding import Finding, Incomplete, Result
from glasswarden.kube.compare import ABSENT
from glasswarden.kube.diff import changes
from glasswarden.kube.noise import without_noise
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import ROOT

_KUBECTL: Final = re.compile(r"diff (?:-\S+ (?:\d+ )?)*\S*LIVE-\d+/(?P<file>\S+) ")
_ARGOCD: Final = re.compile(
    r"={5,6} (?P<group>[^/ ]*)/(?P<kind>\S+) (?P<namespace>[^/ ]*)/(?P<name>\S+) ={5,6}"
)
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@|\d+(?:,\d+)?[acd]\d+(?:,\d+)?$")
_ALL_OF_IT: Final = re.compile(r"0a1\b|1(?:,\d+)?d0$")
_FIRST: Final = frozenset({"0", "1"})


@dataclass(slots=True)
class _Section:
    """What was printed about one object."""

    ref: Ref
    live: list[str] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    hunks: list[str] = field(default_factory=list)
    """The first line of each hunk."""

    def take(self, line: str) -> None:
        """Take in one line of the object's difference."""
        if _HUNK.match(line):
            self.hunks.append(line)
        elif not self.hunks or line == "---" or line.startswith("\\ "):
            return  # the files' names, what stands between two sides, a remark
        elif line[:1] in ("-", "<"):
            self._take(self.live, self.removed, line)
        elif line[:1] in ("+", ">"):
            self._take(self.declared, self.added, line)
        elif line.startswith(" "):
            self.live.append(line[1:])
            self.declared.append(line[1:])

    def _take(self, side: list[str], differing: list[str], line: str) -> None:
        text = line[2:] if line[:2] in ("< ", "> ") else line[1:]
        side.append(text)
        differing.append(text)

    @property
    def is_whole(self) -> bool:
        """Whether the lines begin at the top and leave nothing out in between."""
        if len(self.hunks) != 1:
            return False
        if _ALL_OF_IT.match(self.hunks[0]):
            return True
        found = _HUNK.match(self.hunks[0])
        return found is not None and found[1] in _FIRST and found[2] in _FIRST


def read_diff(text: str, source: str) -> Result:
    """Return what *text*, the output of one of the programs, says differs."""
    sections = list(_sections(text))
    if text.strip() and not sections:
        why = "this is the output of neither `kubectl diff` nor `argocd app diff`"
        return Result((), (Incomplete(source, why),))
    return Result(tuple(each for section in sections for each in _findings(section, source)))


def _sections(text: str) -> Iterator[_Section]:
    section: _Section | None = None
    for line in text.splitlines():
        ref = _ref(line)
        if ref is not None:
            if section is not None:
                yield section
            section = _Section(ref)
        elif section is not None:
            section.take(line)
    if section is not None:
        yield section


def _ref(line: str) -> Ref | None:
    """Return the object that *line* announces, if it does."""
    if found := _ARGOCD.match(line):
        return Ref(found["group"], "", found["kind"], found["namespace"], found["name"])
    found = _KUBECTL.match(line)
    return _ref_of_file(found["file"]) if found else None


def _ref_of_file(name: str) -> Ref | None:
    """Return the object of a file of kubectl: `group.version.Kind.namespace.name`."""
    parts = name.split(".")
    # Only a kind begins with a capital letter; names and groups have dots of their own.
    index = next((i for i, part in enumerate(parts) if part[:1].isupper()), 0)
    if not 0 < index < len(parts) - 2:
        return None
    group, version = ".".join(parts[: index - 1]), parts[index - 1]
    return Ref(group, version, parts[index], parts[index + 1], ".".join(parts[index + 2 :]))


def _findings(section: _Section, source: str) -> Iterator[Finding]:
    live, declared = _object(section, section.live), _object(section, section.declared)
    if live and declared:
        ref = ref_of(live)
        for change in changes(live, declared):
            yield Finding(ref, change.path, change.new, change.old, None, source)
    elif declared and not section.live:
        yield Finding(ref_of(declared), ROOT, without_noise(declared), ABSENT, None, source)
    elif live and not section.declared:
        metadata = without_noise(live).get("metadata", {})
        yield Finding(ref_of(live), ROOT, ABSENT, {"metadata": metadata}, None, source)
    elif section.added or section.removed:
        added, removed = "\n".join(section.added), "\n".join(section.removed)
        yield Finding(section.ref, ROOT, added, removed, None, source)


def _object(section: _Section, lines: list[str]) -> Object | None:
    """Return the object that *lines* are, if they are a whole one."""
    if not section.is_whole or not lines:
        return None
    try:
        value = parse_yaml("\n".join(lines))
    except YamlInvalid:
        return None
    is_object = isinstance(value, dict) and ref_of(value).kind and ref_of(value).name
    return value if is_object else None
