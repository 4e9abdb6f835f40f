"""The patch: a unified diff that `git apply` takes."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Final

from correlator.backport.scalars import double_quoted

CONTEXT: Final = 3
_NO_NEWLINE: Final = "\\ No newline at end of file\n"


def unified(changed: Mapping[str, tuple[str | None, str | None]]) -> str:
    """Return the patch for *changed*: each file's text before and after, none for no file."""
    return "".join(part for path, (old, new) in changed.items() for part in _file(path, old, new))


def _file(path: str, old: str | None, new: str | None) -> Iterator[str]:
    before, after = _named(f"a/{path}"), _named(f"b/{path}")
    yield f"diff --git {before} {after}\n"
    if old is None:
        yield "new file mode 100644\n"
    elif new is None:
        yield "deleted file mode 100644\n"
    if not old and not new:
        return
    yield f"--- {before if old is not None else '/dev/null'}\n"
    yield f"+++ {after if new is not None else '/dev/null'}\n"
    yield from _hunks(_lines(old or ""), _lines(new or ""))


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        spans = _span(first[1], last[2]), _span(first[3], last[4])
        yield f"@@ -{spans[0]} +{spans[1]} @@\n"
        for tag, i, i_end, j, j_end in group:
            if tag == "equal":
                yield from (_line(" ", line) for line in old[i:i_end])
                continue
            yield from (_line("-", line) for line in old[i:i_end])
            yield from (_line("+", line) for line in new[j:j_end])


def _span(start: int, end: int) -> str:
    length = end - start
    begin = start + 1 if length else start
    return f"{begin}" if length == 1 else f"{begin},{length}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"


def _lines(text: str) -> list[str]:
    """Return the lines of *text* as Git counts them: only a newline ends one."""
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def _named(path: str) -> str:
    """Return *path* as Git writes it: quoted where it has characters that would end it."""
    if path.isprintable() and not set(path) & set('"\\'):
        return path
    return double_quoted(path)
