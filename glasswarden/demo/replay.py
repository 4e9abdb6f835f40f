"""Living through the recorded story again: the real webhook answers, the ledger records."""

import base64
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from certs.folder import Folder
from glasswarden.demo.clock import StoryClock
from glasswarden.demo.cluster import RecordedCluster, served
from glasswarden.demo.errors import DemoFailed, FolderUnusable
from glasswarden.demo.layout import Layout
from glasswarden.demo.retelling import Response, Retelling, parse_answer
from glasswarden.demo.stage import Stage, open_stage
from glasswarden.demo.story import Exchange, Recording, Step
from glasswarden.kube.objects import ref_of
from webhook.key_folder import make_key_folder

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
    retelling: Retelling = field(default_factory=Retelling)

    def live_through(self, step: Step) -> list[Response]:
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
        first, deadline = self.live_through(step), time.monotonic() + WARM_UP_SECONDS
        while self.live_through(step) == first and time.monotonic() < deadline:
            time.sleep(0.02)

    def leave(self, layout: Layout) -> None:
        """Write what the story left behind: objects, the audit log, the Git repository."""
        self.clock.set(self.recording.ended)
        self._write_objects(self.recording.live, layout.live)
        self._write_objects(self.recording.mended, layout.mended)
        events = (self.retelling.of(bytes(event)) for event in self.recording.audit)
        lines = (msgspec.json.format(event, indent=-1) + b"\n" for event in events)
        layout.audit_log.write_bytes(b"".join(lines))
        unbundle(base64.b64decode(self.recording.repository), layout.repository)

    def _ask(self, exchange: Exchange) -> Response:
        review = self.retelling.of(bytes(exchange.review))
        given = self.stage.ask(exchange.door, review)
        self.retelling.learn(parse_answer(bytes(exchange.answer)), given)
        if exchange.door == "validate" and given.allowed:
            self._store(review)
        return given

    def _store(self, review: bytes) -> None:
        """Have the cluster hold what was let in, for the next question about it."""
        request = msgspec.json.decode(review, type=_Review).request
        if request.object is not None and not request.dry_run and not request.sub_resource:
            self.cluster.take(request.object)

    def _write_objects(self, objects: Iterable[msgspec.Raw], folder: Path) -> None:
        folder.mkdir()
        for raw in objects:
            text = self.retelling.of(bytes(raw))
            ref = ref_of(msgspec.json.decode(text))
            name = f"{ref.kind.lower()}-{ref.name}.json"
            (folder / name).write_bytes(msgspec.json.format(text, indent=2) + b"\n")


@contextmanager
def open_replay(recording: Recording, layout: Layout, port: int | None) -> Iterator[Replay]:
    """Start the webhook at the beginning of the story; stop it at the end of the block."""
    prepare(layout, recording)

    def start(bind: str, certificates: Folder) -> list[str]:
        arguments = (str(layout.folder), bind, str(certificates.path))
        return ["glasswarden.demo.webhook", *arguments]

    cluster = RecordedCluster(msgspec.json.decode(bytes(each)) for each in recording.first)
    with ExitStack() as stack:
        stack.enter_context(served(cluster, layout.kubeconfig))
        stage = stack.enter_context(open_stage(layout.webhook, start, port))
        yield Replay(recording, stage, StoryClock(layout.clock), cluster)


def prepare(layout: Layout, recording: Recording) -> None:
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


def unbundle(bundle: bytes, folder: Path) -> None:
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
