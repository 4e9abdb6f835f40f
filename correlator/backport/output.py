"""The result of a backport: a unified diff for `git apply`, messages, and a commit.

The commit goes to a new branch. The working tree, the index and the checked-out branch of the
repository are not touched, and none of its hooks run.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

from correlator.backport.errors import RepositoryUnusable
from correlator.backport.place import Outcome, Placed, Unplaced
from correlator.backport.yaml_text import quote_double
from correlator.declared.errors import DeclaredUnreadable
from correlator.declared.git import find_program, output_of
from correlator.output.text import render_value
from glasswarden.kube.compare import Value
from glasswarden.terminal import escape_unprintable

CONTEXT: Final = 3
_NO_NEWLINE: Final = "\\ No newline at end of file\n"


def render_patch(changed: Mapping[str, tuple[str | None, str | None]]) -> str:
    """Return the patch for *changed*: each file's text before and after, none for no file."""
    return "".join(
        part for path, (old, new) in changed.items() for part in _render_file(path, old, new)
    )


def _render_file(path: str, old: str | None, new: str | None) -> Iterator[str]:
    before, after = _quote_path(f"a/{path}"), _quote_path(f"b/{path}")
    yield f"diff --git {before} {after}\n"
    if old is None:
        yield "new file mode 100644\n"
    elif new is None:
        yield "deleted file mode 100644\n"
    if not old and not new:
        return
    yield f"--- {before if old is not None else '/dev/null'}\n"
    yield f"+++ {after if new is not None else '/dev/null'}\n"
    yield from _render_hunks(_split_lines(old or ""), _split_lines(new or ""))


def _render_hunks(old: list[str], new: list[str]) -> Iterator[str]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        spans = _render_span(first[1], last[2]), _render_span(first[3], last[4])
        yield f"@@ -{spans[0]} +{spans[1]} @@\n"
        for tag, i, i_end, j, j_end in group:
            if tag == "equal":
                yield from (_render_line(" ", line) for line in old[i:i_end])
                continue
            yield from (_render_line("-", line) for line in old[i:i_end])
            yield from (_render_line("+", line) for line in new[j:j_end])


def _render_span(start: int, end: int) -> str:
    length = end - start
    begin = start + 1 if length else start
    return f"{begin}" if length == 1 else f"{begin},{length}"


def _render_line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"


def _split_lines(text: str) -> list[str]:
    """Return the lines of *text* as Git counts them: only a newline ends one."""
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def _quote_path(path: str) -> str:
    """Return *path* as Git writes it: quoted where it has characters that would end it."""
    if path.isprintable() and not set(path) & set('"\\'):
        return path
    return quote_double(path)


LONGEST_VALUE: Final = 60
LONGEST_SUBJECT: Final = 72


def commit_message(placed: Sequence[Placed]) -> str:
    """Return the message of the commit that declares *placed*."""
    tickets, actors, records = (
        _distinct_words(words)
        for words in (
            (each.wanted.ticket for each in placed),
            (each.wanted.actor for each in placed),
            (record for each in placed for record in each.wanted.records),
        )
    )
    about = f" under {', '.join(tickets)}" if tickets else ""
    fields = "1 field" if len(placed) == 1 else f"{len(placed)} fields"
    subject = f"Declare {fields} changed by hand{about}"
    trailers = [
        *(f"Ticket: {ticket}" for ticket in tickets),
        *(f"Changed-by: {actor}" for actor in actors),
        *(f"Glasswarden-record: {record}" for record in records),
    ]
    lines = [_cut(subject, LONGEST_SUBJECT), "", *map(render_change, placed), "", *trailers]
    return "\n".join(lines) + "\n"


def render_change(placed: Placed) -> str:
    """Return one field on a line: before, and now."""
    wanted = placed.wanted
    if wanted.is_deletion:
        return escape_unprintable(f"{wanted.ref}: deleted")
    before, now = _shorten(placed.declared), _shorten(wanted.value)
    return f"{escape_unprintable(str(wanted))}: {before} → {now}"


def render_outcome(outcome: Outcome, gone: int) -> list[str]:
    """Return what became of each field, for the terminal."""
    lines = []
    if outcome.placed:
        lines += ["Placed, rendered again and compared with the live value:"]
        lines += [
            line
            for each in outcome.placed
            for line in (f"  {render_change(each)}", f"    {escape_unprintable(each.where)}")
        ]
    if outcome.already:
        lines += [
            "In Git already:",
            *(f"  {escape_unprintable(str(each))}" for each in outcome.already),
        ]
    if gone:
        lines += [f"No longer live: {gone} of the changed fields."]
    if outcome.unplaced:
        lines += ["Not placed:"]
        lines += [f"  {line}" for each in outcome.unplaced for line in render_unplaced(each)]
    return lines or ["Nothing of it is live: there is nothing to write back."]


def render_unplaced(unplaced: Unplaced) -> list[str]:
    """Return what could not be placed, and why."""
    return [escape_unprintable(str(unplaced.wanted)), f"  {escape_unprintable(unplaced.why)}"]


def _distinct_words(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(escape_unprintable(each) for each in words if each))


def _shorten(value: Value) -> str:
    return _cut(render_value(value), LONGEST_VALUE)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


_FILE: Final = "100644"
_NO_COMMIT: Final = "0" * 40


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder, and the repository that it is in."""

    root: Path
    """Where the repository begins; the folder itself where it is in none."""
    folder: str
    """The folder, from there."""
    is_git: bool = True

    def commit_at(self, revision: str) -> str:
        """Return the commit that *revision* stands for."""
        asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        try:
            return self._run_git(*asked)
        except DeclaredUnreadable as error:
            raise RepositoryUnusable(f"{self.root} has no revision {revision!r}") from error

    def check_branch(self, branch: str) -> None:
        """Raise `RepositoryUnusable` unless *branch* could be made."""
        if not self.is_git:
            raise RepositoryUnusable(f"{self.root} is no Git repository: it has no branches")
        try:
            self._run_git("check-ref-format", "--branch", branch)
        except DeclaredUnreadable as error:
            raise RepositoryUnusable(f"{branch!r} is no name for a branch") from error
        try:
            self._run_git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        except DeclaredUnreadable:
            return
        raise RepositoryUnusable(f"the branch {branch} exists; choose another name")

    def commit(
        self, base: str, branch: str, changed: Mapping[str, str | None], message: str
    ) -> str:
        """Return the commit on the new *branch* that follows *base*, with the files *changed*."""
        try:
            with tempfile.TemporaryDirectory(prefix="glasswarden-commit-") as temporary:
                tree = self._write_tree(Path(temporary), base, changed)
                note = Path(temporary, "message")
                note.write_text(message)
                commit = self._run_git("commit-tree", tree, "-p", base, "-F", str(note))
            self._run_git("update-ref", f"refs/heads/{branch}", commit, _NO_COMMIT)
        except (OSError, DeclaredUnreadable) as error:
            raise RepositoryUnusable(f"nothing was committed: {error}") from error
        return commit

    def _write_tree(self, temporary: Path, base: str, changed: Mapping[str, str | None]) -> str:
        index = {"GIT_INDEX_FILE": str(temporary / "index")}
        self._run_git("read-tree", base, environment=index)
        for path, text in changed.items():
            if text is None:
                self._run_git("update-index", "--force-remove", "--", path, environment=index)
                continue
            file = temporary / "content"
            file.write_bytes(text.encode())
            blob = self._run_git("hash-object", "-w", f"--path={path}", str(file))
            entry = f"{self._mode_of(base, path)},{blob},{path}"
            self._run_git("update-index", "--add", "--cacheinfo", entry, environment=index)
        return self._run_git("write-tree", environment=index)

    def _mode_of(self, base: str, path: str) -> str:
        listed = self._run_git("ls-tree", base, "--", path)
        return listed.split()[0] if listed else _FILE

    def _run_git(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        git = find_program("git", "it reads and writes repositories")
        return output_of([git, "-C", self.root, *arguments], environment=environment).strip()


def find_repository(place: Path) -> Repository:
    """Return the repository that *place* is in."""
    if not place.is_dir():
        raise RepositoryUnusable(f"{place} is not a folder")
    git = find_program("git", "it reads and writes repositories")
    try:
        root = output_of([git, "-C", place, "rev-parse", "--show-toplevel"]).strip()
        prefix = output_of([git, "-C", place, "rev-parse", "--show-prefix"]).strip()
    except DeclaredUnreadable:
        return Repository(place.resolve(), "", is_git=False)
    return Repository(Path(root), prefix.rstrip("/"))
