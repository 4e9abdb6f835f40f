"""The demo as a program: replays the recorded story against the real webhook, and prints it.

Afterwards it runs the commands that a reviewer would type in the demo's folder, and summarizes the
output of `drift --format json`, with one line for each finding.
"""

import base64
import os
import shlex
import shutil
import subprocess
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from certs.files import Folder
from glasswarden.demo.stage import (
    Layout,
    RecordedCluster,
    Stage,
    StoryClock,
    open_stage,
    serve_cluster,
)
from glasswarden.demo.story import (
    INCIDENT,
    DemoFailed,
    Exchange,
    FolderUnusable,
    NameMap,
    Recording,
    Response,
    Step,
    parse_answer,
)
from glasswarden.kube.objects import ref_of
from glasswarden.terminal import escape_unprintable
from webhook.reloading import make_key_folder

WARM_UP_SECONDS: Final = 3.0


class _Request(msgspec.Struct, frozen=True, rename="camel"):
    object: dict[str, Any] | None = None
    sub_resource: str = ""
    dry_run: bool = False


class _Review(msgspec.Struct, frozen=True):
    request: _Request


@dataclass(frozen=True, slots=True)
class Replay:
    """A webhook to which the story happens."""

    recording: Recording
    stage: Stage
    clock: StoryClock
    cluster: RecordedCluster
    retelling: NameMap = field(default_factory=NameMap)

    def replay_step(self, step: Step) -> list[Response]:
        """Ask the webhook what the API server asked it at *step*; return what it answers.

        Where somebody typed, what is asked about others' writes meanwhile is not told.
        """
        told = []
        for exchange in step.exchanges:
            self.clock.set(exchange.time)
            given = self._ask(exchange)
            if not step.person or exchange.user == step.person:
                told.append(given)
        return told

    def warm_up(self, step: Step) -> None:
        """Ask *step*, a dry run, until the answer changes.

        Where in Git an application is described the webhook looks up in the background, so the
        first answer cannot name it yet.
        """
        first, deadline = self.replay_step(step), time.monotonic() + WARM_UP_SECONDS
        while self.replay_step(step) == first and time.monotonic() < deadline:
            time.sleep(0.02)

    def write_leftovers(self, layout: Layout) -> None:
        """Write what the story left behind: objects, the audit log, the Git repository."""
        self.clock.set(self.recording.ended)
        self._write_objects(self.recording.live, layout.live)
        self._write_objects(self.recording.mended, layout.mended)
        events = (self.retelling.rename(bytes(event)) for event in self.recording.audit)
        lines = (msgspec.json.format(event, indent=-1) + b"\n" for event in events)
        layout.audit_log.write_bytes(b"".join(lines))
        clone_bundle(base64.b64decode(self.recording.repository), layout.repository)

    def _ask(self, exchange: Exchange) -> Response:
        review = self.retelling.rename(bytes(exchange.review))
        given = self.stage.ask(exchange.door, review)
        self.retelling.learn(parse_answer(bytes(exchange.answer)), given)
        if exchange.door == "validate" and given.allowed:
            self._store(review)
        return given

    def _store(self, review: bytes) -> None:
        """Have the cluster hold what was allowed, for the next question about it."""
        request = msgspec.json.decode(review, type=_Review).request
        if request.object is not None and not request.dry_run and not request.sub_resource:
            self.cluster.take(request.object)

    def _write_objects(self, objects: Iterable[msgspec.Raw], folder: Path) -> None:
        folder.mkdir()
        for raw in objects:
            text = self.retelling.rename(bytes(raw))
            ref = ref_of(msgspec.json.decode(text))
            name = f"{ref.kind.lower()}-{ref.name}.json"
            (folder / name).write_bytes(msgspec.json.format(text, indent=2) + b"\n")


@contextmanager
def open_replay(recording: Recording, layout: Layout, port: int | None) -> Iterator[Replay]:
    """Start the webhook at the beginning of the story; stop it at the end of the block."""
    prepare_folder(layout, recording)

    def start(bind: str, certificates: Folder) -> list[str]:
        arguments = (str(layout.folder), bind, str(certificates.path))
        return ["glasswarden.demo.webhook", *arguments]

    cluster = RecordedCluster(msgspec.json.decode(bytes(each)) for each in recording.first)
    with ExitStack() as stack:
        stack.enter_context(serve_cluster(cluster, layout.kubeconfig))
        stage = stack.enter_context(open_stage(layout.webhook, start, port))
        yield Replay(recording, stage, StoryClock(layout.clock), cluster)


def prepare_folder(layout: Layout, recording: Recording) -> None:
    """Make the folder, with keys and a clock of the story's time; raise `FolderUnusable`."""
    folder = layout.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise FolderUnusable(f"{folder} is not empty: name a new folder, nothing was touched")
        layout.webhook.mkdir(mode=0o700)
        layout.policy.write_text(recording.policy)
        make_key_folder(layout.keys, recording.began)
        layout.clock.write_text(recording.began.isoformat())
    except OSError as error:
        raise FolderUnusable(f"{folder} cannot be used: {error.strerror}") from error


def clone_bundle(bundle: bytes, folder: Path) -> None:
    """Make the repository that *bundle* holds."""
    git = shutil.which("git")
    if git is None:
        raise DemoFailed("git is not on the PATH: the story's repository cannot be shown")
    file = folder.with_suffix(".bundle")
    file.write_bytes(bundle)
    command = [git, "clone", "--quiet", "--branch", "main", str(file), str(folder)]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(command, env=environment | {"HOME": str(folder.parent)}, check=True)  # noqa: S603
    file.unlink()


WIDTH: Final = 100
MOST_LINES: Final = 4
"""Of what was said at once; the whole is in the webhook's log and in the ledger."""

_MARGIN: Final = " " * 10


def print_introduction(recording: Recording) -> None:
    """Say what was recorded, and what is made now."""
    click.echo(
        f"Recorded on {recording.began:%Y-%m-%d} (UTC) at Kubernetes {recording.server} with Flux "
        f"{recording.flux}.\nWhat the webhook says and the ledger holds is made now, "
        "by the clock of that day."
    )


def print_story(replay: Replay) -> None:
    """Show every step as its person saw it."""
    for step in replay.recording.steps:
        if not step.title:
            replay.warm_up(step)
            continue
        given = replay.replay_step(step)
        click.echo(f"{step.time:%H:%M:%S}  {click.style(step.title, bold=True)}")
        if step.command:
            show_command(f"{step.person} $ {step.command}", _MARGIN)
        for line in _render_seen(step, given):
            click.echo(f"{_MARGIN}{line}")


def show_command(line: str, margin: str = "") -> None:
    """Show what is typed, in as many lines as it takes."""
    for part in _wrap(line, "    ", WIDTH - len(margin)):
        click.secho(f"{margin}{part}", fg="cyan")


def _render_seen(step: Step, given: list[Response]) -> Iterator[str]:
    """Yield what was to be seen, in the words that the webhook finds now."""
    if denied := [each.status.message for each in given if not each.allowed]:
        yield from (click.style(line, fg="red") for line in _render_lines(denied[-1]))
    elif warned := [warning for each in given for warning in each.warnings]:
        yield from (click.style(line, fg="yellow") for line in _render_lines(warned[0]))
    elif step.said:
        yield from _render_lines(step.said.strip())
    elif kept := _held_fields_of(given):
        yield click.style(f"kept as they are live: {', '.join(kept)}", fg="yellow")


def _held_fields_of(given: list[Response]) -> list[str]:
    """Return the fields that the webhook put back in a reconciler's write."""
    paths = {edit.path for each in given for edit in each.edits}
    return sorted(path for path in paths if not path.startswith("/metadata/"))


def _render_lines(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for line in lines[:MOST_LINES]:
        yield from _wrap(line, "  ")


def _wrap(line: str, hanging: str, width: int = WIDTH - len(_MARGIN)) -> list[str]:
    return textwrap.wrap(line, width, subsequent_indent=hanging, break_on_hyphens=False)


LONGEST: Final = 10
"""Characters of a value; its end tells more than its beginning."""


class _Object(msgspec.Struct, frozen=True):
    kind: str
    name: str
    namespace: str = ""


class _Link(msgspec.Struct, frozen=True):
    state: str = ""
    actor: str = ""
    ticket: str = ""


class _Finding(msgspec.Struct, frozen=True):
    object: _Object
    field: str
    response: str
    declared: Any = None
    live: Any = None
    source: str = ""
    kind: str = msgspec.field(name="class", default="")
    link: _Link = _Link()


class _Drift(msgspec.Struct, frozen=True):
    findings: list[_Finding]


def summarize_drift(drift: str) -> list[str]:
    """Return a line for each finding: the object, the field, who, and what to do about it."""
    found = msgspec.json.decode(drift.encode(), type=_Drift).findings
    rows = [(*_describe_finding(each), _render_who(each), each.response) for each in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _describe_finding(finding: _Finding) -> tuple[str, str, str]:
    subject = f"{finding.object.kind} {finding.object.name}"
    if finding.field == "/":
        return subject, "", "written to"
    field = finding.field.rpartition("/")[2]
    return subject, field, f"{_render_value(finding.declared)} → {_render_value(finding.live)}"


def _render_value(given: Any) -> str:  # noqa: ANN401 - any JSON value
    text = escape_unprintable(str(given))
    return text if len(text) <= LONGEST else f"…{text[-LONGEST + 1 :]}"


def _render_who(finding: _Finding) -> str:
    link = finding.link
    if finding.kind == "sync-availability":
        return f"[{finding.source}]"
    if not link.actor:
        return f"({link.state})"
    return f"{link.actor}, {link.ticket}" if link.ticket else f"{link.actor}, no record"


@dataclass(frozen=True, slots=True)
class Question:
    """A command of ours."""

    words: tuple[str, ...]
    into: str = ""
    """The file that its answer is written to by the shell."""
    shown: Callable[[str], list[str]] | None = None
    """What of the answer is shown."""
    more: tuple[str, ...] = ()
    """Other files that the same is written to, each in its own format."""

    def __str__(self) -> str:
        return shlex.join(self.words) + (f" > {self.into}" if self.into else "")


_PLACE: Final = ("-n", "shop")
_LIVE: Final = ("--live", "live")
_SEEN: Final = (*_LIVE, "--audit-log", "audit.log")
_DEPLOYED: Final = ("--path", "deploy")
_THEN: Final = ("--git", f"git@{INCIDENT}", *_DEPLOYED)
"""What Git declared during the incident."""

_PATCH: Final = ("backport", "--ticket", "INC-42", "--repo", f"git@{INCIDENT}", *_DEPLOYED)

QUESTIONS: Final = (
    Question(
        ("drift", *_THEN, *_PLACE, *_SEEN, "--format", "json"),
        into="drift.json",
        shown=summarize_drift,
    ),
    Question(
        ("blame", "deploy/web", *_PLACE, *_SEEN, "--field", "/spec/replicas"),
        shown=str.splitlines,
    ),
    Question(
        ("history", "deploy/web", *_PLACE, *_SEEN, "--field", "/spec/replicas"),
        shown=str.splitlines,
    ),
    Question(
        ("report", *_PLACE, *_THEN, *_SEEN, "--verify", "-o", "report.html"),
        more=("report.md", "report.json", "report.csv"),
    ),
    Question((*_PATCH, *_LIVE, "-o", "backport.patch")),
    Question(
        ("review", "--since", "7d", *_PLACE, *_THEN, *_SEEN, "-o", "review.html"),
        more=("review.md",),
    ),
)

MENDED: Final = (
    "Git takes the patch, leaves the API's replicas to its autoscaler, and has the half-merged\n"
    "file whole. Flux follows, and puts the payments back as they were:"
)
"""What was done about it, before the last question."""

LAST: Final = Question(
    ("drift", "--git", "git", *_DEPLOYED, *_PLACE, "--live", "mended", "--audit-log", "audit.log"),
    shown=str.splitlines,
)
"""Asked when Git has the patch and Flux has followed; the ledger and the log remember all of it."""
