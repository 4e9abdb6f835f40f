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
from glasswarden.kube.diff import find_changes, remove_noise
from glasswarden.kube.objects import Object, Ref, ref_of
from glasswarden.kube.paths import ROOT

_KUBECTL: Final = re.compile(r"diff (?:-\S+ (?:\d+ )?)*\S*LIVE-\d+/(?P<file>\S+) ")
_ARGOCD: Final = re.compile(
    r"={5,6} (?P<group>[^/ ]*)/(?P<kind>\S+) (?P<namespace>[^/ ]*)/(?P<name>\S+) ={5,6}"
)
_UNIFIED: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NORMAL: Final = re.compile(r"(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?$")
_FIRST: Final = frozenset({"0", "1"})


@dataclass(slots=True)
class _Hunk:
    """Lines that stand together, of which the first one says how many there are of each side."""

    live: int
    declared: int
    """How many lines are still to come."""
    unified: bool
    is_first: bool
    """Whether it begins at the top of both."""

    @property
    def is_done(self) -> bool:
        """Whether all of its lines were there."""
        return self.live == self.declared == 0


@dataclass(slots=True)
class _Section:
    """What was printed about one object."""

    ref: Ref
    live: list[str] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    hunks: list[_Hunk] = field(default_factory=list)
    strange: int = 0
    """How many lines are neither the object's nor the program's."""

    def take(self, line: str) -> None:
        """Take in one line of the object's difference."""
        hunk = self.hunks[-1] if self.hunks else None
        if (begun := _hunk(line)) is not None:
            self.hunks.append(begun)
        elif hunk is None or (line == "---" and not hunk.unified) or line.startswith("\\ "):
            return  # the files' names, what stands between two sides, a remark
        elif line[:1] in ("-", "<") and hunk.live > 0:
            hunk.live -= 1
            self._take(self.live, self.removed, line)
        elif line[:1] in ("+", ">") and hunk.declared > 0:
            hunk.declared -= 1
            self._take(self.declared, self.added, line)
        elif line[:1] in ("", " ") and hunk.unified and not hunk.is_done:
            hunk.live -= 1
            hunk.declared -= 1
            self.live.append(line[1:])
            self.declared.append(line[1:])
        elif line.strip():
            self.strange += 1

    def _take(self, side: list[str], differing: list[str], line: str) -> None:
        text = line[2:] if line[:2] in ("< ", "> ") else line[1:]
        side.append(text)
        differing.append(text)

    @property
    def is_torn(self) -> bool:
        """Whether lines are missing, or there are some that do not belong."""
        return bool(self.strange) or not all(hunk.is_done for hunk in self.hunks)

    @property
    def is_whole(self) -> bool:
        """Whether the lines begin at the top and leave nothing out in between."""
        return len(self.hunks) == 1 and self.hunks[0].is_first and not self.is_torn


def read_diff(text: str, source: str) -> Result:
    """Return what *text*, the output of one of the programs, says differs."""
    sections = list(_sections(text))
    if text.strip() and not sections:
        why = "this is the output of neither `kubectl diff` nor `argocd app diff`"
        return Result((), (Incomplete(source, why),))
    findings = tuple(each for section in sections for each in _findings(section, source))
    unread = ((section, why) for section in sections if (why := _unread(section, source)))
    return Result(findings, tuple(Incomplete(str(section.ref), why) for section, why in unread))


def _hunk(line: str) -> _Hunk | None:
    """Return the hunk that *line* begins, if it does."""
    if found := _UNIFIED.match(line):
        live, count, declared, other = found.groups()
        is_first = live in _FIRST and declared in _FIRST
        return _Hunk(_count(count), _count(other), unified=True, is_first=is_first)
    if not (found := _NORMAL.match(line)):
        return None
    live, last, letter, declared, other = found.groups()
    # Of two sides that differ this form prints the lines that do: only of one alone, all of it.
    return _Hunk(
        0 if letter == "a" else _lines(live, last),
        0 if letter == "d" else _lines(declared, other),
        unified=False,
        is_first=(letter, live, declared) in (("a", "0", "1"), ("d", "1", "0")),
    )


def _count(text: str | None) -> int:
    return 1 if text is None else int(text)


def _lines(first: str, last: str | None) -> int:
    return 1 if last is None else int(last) - int(first) + 1


def _unread(section: _Section, source: str) -> str:
    """Return what of *section* was not printed, or not in a form that is known; mostly nothing."""
    if not section.hunks:
        return f"{source} names it, and prints no line that differs"
    return f"{source} prints less, or other lines, than it announces" if section.is_torn else ""


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
        for change in find_changes(live, declared):
            yield Finding(ref, change.path, change.new, change.old, None, source)
    elif declared and not section.live:
        yield Finding(ref_of(declared), ROOT, remove_noise(declared), ABSENT, None, source)
    elif live and not section.declared:
        metadata = remove_noise(live).get("metadata", {})
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
